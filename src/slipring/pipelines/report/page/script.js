// SPDX-License-Identifier: Apache-2.0
// A line under the pointer, and the rate of every track at that time. The page is complete without it.
"use strict";
(() => {
  const tracks = document.querySelector(".traffic .tracks");
  if (!tracks) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  const cross = tracks.querySelector(".cross");
  const now = document.querySelector(".traffic .now");
  const rows = [...tracks.querySelectorAll("[data-track]")];
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
    data.tracks.forEach((track, at) => {
      const step = track.bounds.findLastIndex((bound, number) => bound <= place && number < track.messages.length);
      const rate = (inBytes ? track.bytes : track.messages)[step];
      const lost = track.lost[step];
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

  tracks.addEventListener("pointermove", (event) => {
    const plot = rows[0].querySelector(".plot").getBoundingClientRect();
    const share = (event.clientX - plot.left) / plot.width;
    if (share < 0 || share >= 1) { hide(); return; }
    show(share * data.length, event.clientX - tracks.getBoundingClientRect().left);
  });
  tracks.addEventListener("pointerleave", hide);
})();
