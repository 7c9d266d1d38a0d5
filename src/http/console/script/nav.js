// On a narrow screen the navigation scrolls: the entry of this page comes into view.
document.querySelector(".top nav [aria-current]")
  ?.scrollIntoView({ block: "nearest", inline: "center" });
// The page that answers a form: going back to it or loading it again sends nothing again.
history.replaceState(history.state, "", location.href);
