// SPDX-License-Identifier: Apache-2.0
// The line under the pointer: the rate of every lane at that moment. The page is complete without it.
"use strict";
(() => {
  const lanes = document.querySelector(".traffic .lanes");
  if (!lanes) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  const cross = lanes.querySelector(".cross");
  const now = document.querySelector(".traffic .now");
  const rows = [...lanes.querySelectorAll("[data-lane]")];
  const means = rows.map((row) => row.querySelector(".figure").innerHTML);
  const figures = rows.map((row) => row.querySelector(".figure"));

  const scaled = (amount, units) => {
    let at = 0;
    while (amount >= 1000 && at < units.length - 1) { amount /= 1000; at += 1; }
    return amount.toLocaleString("en", { maximumSignificantDigits: 3 }) + " " + units[at];
  };

  const show = (place, x) => {
    const inBytes = document.getElementById("by-bytes").checked;
    cross.style.display = "block";
    cross.style.left = x + "px";
    now.textContent = new Date(data.begin_ms + place * data.step_ms).toLocaleString();
    data.lanes.forEach((lane, at) => {
      const step = lane.bounds.findLastIndex((bound, number) => bound <= place && number < lane.messages.length);
      const rate = (inBytes ? lane.bytes : lane.messages)[step];
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
    figures.forEach((figure, at) => { figure.innerHTML = means[at]; });
  };

  lanes.addEventListener("pointermove", (event) => {
    const plot = rows[0].querySelector(".plot").getBoundingClientRect();
    const share = (event.clientX - plot.left) / plot.width;
    if (share < 0 || share >= 1) { hide(); return; }
    show(share * data.length, event.clientX - lanes.getBoundingClientRect().left);
  });
  lanes.addEventListener("pointerleave", hide);
})();
