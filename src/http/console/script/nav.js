// On a narrow screen the navigation scrolls: the entry of this page comes into view.
document.querySelector(".top nav [aria-current]")
  ?.scrollIntoView({ block: "nearest", inline: "center" });
