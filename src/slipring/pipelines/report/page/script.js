// SPDX-License-Identifier: Apache-2.0
// The line under the pointer: at one moment, what every lane carried. The page is whole without it.
"use strict";
(() => {
  const lanes = document.querySelector(".traffic .lanes");
  if (!lanes) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  const cross = lanes.querySelector(".cross");
  const now = document.querySelector(".traffic .now");
  const rows = [...lanes.querySelectorAll("[data-lane]")];
  const peaks = rows.map((row) => row.querySelector(".figure").innerHTML);
  const figures = rows.map((row) => row.querySelector(".figure"));
  const seconds = data.step_ms / 1000;

  const scaled = (amount, units) => {
    let at = 0;
    while (amount >= 1000 && at < units.length - 1) { amount /= 1000; at += 1; }
    return amount.toLocaleString("en", { maximumSignificantDigits: 3 }) + " " + units[at];
  };

  const show = (step, x) => {
    const inBytes = document.getElementById("by-bytes").checked;
    cross.style.display = "block";
    cross.style.left = x + "px";
    now.textContent = new Date(data.begin_ms + step * data.step_ms).toLocaleString();
    data.lanes.forEach((lane, at) => {
      const rate = (inBytes ? lane.bytes : lane.messages)[step] / seconds;
      const lost = lane.lost[step];
      figures[at].textContent = inBytes
        ? scaled(rate, ["B/s", "kB/s", "MB/s", "GB/s"])
        : rate.toLocaleString("en", { maximumSignificantDigits: 4 }) + "/s";
      if (lost) {
        const mark = document.createElement("small");
        mark.className = "bad";
        mark.textContent = lost.toLocaleString("en") + " lost";
        figures[at].append(mark);
      }
    });
  };

  const hide = () => {
    cross.style.display = "none";
    now.textContent = "";
    figures.forEach((figure, at) => { figure.innerHTML = peaks[at]; });
  };

  lanes.addEventListener("pointermove", (event) => {
    const plot = rows[0].querySelector(".plot").getBoundingClientRect();
    const share = (event.clientX - plot.left) / plot.width;
    if (share < 0 || share >= 1) { hide(); return; }
    const steps = data.lanes[0].messages.length;
    show(Math.floor(share * steps), event.clientX - lanes.getBoundingClientRect().left);
  });
  lanes.addEventListener("pointerleave", hide);
})();
