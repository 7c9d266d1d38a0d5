// Relative times go on by themselves. `components/values.tsx` writes them in the same words.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"]];

function ago(span_ms) {
  const span_s = Math.round(Math.abs(span_ms) / 1000);
  if (span_s < 5) return "now";
  const [unit_s, unit] = UNITS.find(([each]) => span_s >= each) ?? [1, "s"];
  const text = `${Math.floor(span_s / unit_s)} ${unit}`;
  return span_ms < 0 ? `in ${text}` : `${text} ago`;
}

function showTimes() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const text = ago(Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

setInterval(showTimes, 5000);
