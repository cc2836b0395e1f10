"use strict";
// A replay is a poster until it is started; then viser's player shows it, one at a time. Times are those of the player [s]; the
// text beside the slider multiplies them by the speed of the replay. Space plays and pauses, arrow keys go frame by frame.
(() => {
  const PAUSE = 0.8; // [s] at the end, before it starts again
  const part = (replay, name) => replay.querySelector(`.${name}`);
  const number = (replay, name) => Number(replay.dataset[name]);
  const running = new Map(); // replay -> { frame, time, playing }

  // The player's field for the time, which moves its bodies as soon as something is typed into it.
  const timeField = (frame) => frame.contentDocument?.querySelector("input[inputmode=decimal]");

  const typeTime = (frame, time) => {
    const field = timeField(frame), own = frame.contentWindow;
    Object.getOwnPropertyDescriptor(own.HTMLInputElement.prototype, "value").set.call(field, time.toFixed(4));
    field.dispatchEvent(new own.Event("input", { bubbles: true }));
  };

  // The line over the strips of modes.
  const moveHead = (replay, share) => {
    const strips = replay.querySelectorAll(".strip"), head = part(replay, "head");
    head.hidden = !strips.length;
    if (!strips.length) return;
    const whole = head.parentElement.getBoundingClientRect();
    const first = strips[0].getBoundingClientRect(), last = strips[strips.length - 1].getBoundingClientRect();
    head.style.left = `${first.left - whole.left + first.width * share}px`;
    head.style.top = `${first.top - whole.top - 3}px`;
    head.style.height = `${last.bottom - first.top + 6}px`;
  };

  const show = (replay, time) => {
    const state = running.get(replay), duration = number(replay, "duration");
    state.time = Math.max(0, time);
    const shown = Math.min(state.time, duration);
    typeTime(state.frame, shown);
    const label = `${(shown * number(replay, "speed")).toFixed(2)} s`;
    replay.dataset.time = shown;
    part(replay, "seek").value = shown;
    part(replay, "seek").setAttribute("aria-valuetext", label);
    part(replay, "now").textContent = label;
    moveHead(replay, shown / duration);
  };

  const setPlaying = (replay, playing) => {
    const state = running.get(replay), button = part(replay, "toggle");
    state.playing = playing;
    if (playing && state.time >= number(replay, "duration")) state.time = 0;
    button.textContent = playing ? "❚❚" : "▶︎";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
    replay.dataset.state = playing ? "playing" : "paused";
  };

  const seek = (replay, time) => {
    setPlaying(replay, false);
    show(replay, Math.min(time, number(replay, "duration")));
  };

  const stepBy = (replay, frames) => {
    const frame = number(replay, "frame");
    seek(replay, frame * (Math.round(number(replay, "time") / frame) + frames));
  };

  const advance = (replay, before) => requestAnimationFrame((now) => {
    const state = running.get(replay);
    if (!state || !state.frame.isConnected) return;
    if (state.playing) {
      const time = state.time + Math.min(0.1, (now - before) / 1000) * Number(part(replay, "rate").value);
      show(replay, time > number(replay, "duration") + PAUSE ? 0 : time);
    }
    advance(replay, now);
  });

  const onKey = (event, replay) => {
    if (!running.has(replay) || event.ctrlKey || event.metaKey || event.altKey) return;
    const role = event.target.closest?.("button, select, input")?.tagName, state = running.get(replay);
    if (event.key === " " && role !== "BUTTON" && role !== "SELECT") setPlaying(replay, !state.playing);
    else if (event.key === "ArrowLeft" && !["SELECT", "INPUT"].includes(role)) stepBy(replay, -1);
    else if (event.key === "ArrowRight" && !["SELECT", "INPUT"].includes(role)) stepBy(replay, 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const CONTROLS = ["controls", "seek", "now", "rate", "close"];
  const stop = (replay) => {
    running.get(replay)?.frame.remove();
    running.delete(replay);
    replay.querySelector("iframe")?.remove();
    part(replay, "start").hidden = false;
    part(replay, "label").textContent = "Play in 3D";
    for (const name of [...CONTROLS, "head"]) part(replay, name).hidden = true;
    replay.dataset.state = "poster";
  };

  // The page's own controls, whose time is that of the strips, take the place of the player's bar.
  const takeOver = (replay, frame) => {
    timeField(frame).closest(".mantine-Paper-root")?.style.setProperty("display", "none");
    frame.contentWindow.addEventListener("keydown", (event) => onKey(event, replay), true);
    running.set(replay, { frame, time: 0, playing: true });
    for (const name of CONTROLS) part(replay, name).hidden = false;
    part(replay, "start").hidden = true;
    setPlaying(replay, true);
    show(replay, 0);
    part(replay, "toggle").focus({ preventScroll: true });
    advance(replay, performance.now());
  };

  const whenLoaded = (replay, frame) => requestAnimationFrame(() => {
    if (!frame.isConnected) return;
    if (timeField(frame)) takeOver(replay, frame);
    else whenLoaded(replay, frame);
  });

  const start = async (replay) => {
    // Browsers allow few 3D contexts, and a phone has little memory.
    document.querySelectorAll(".replay:not([data-state=poster])").forEach(stop);
    replay.dataset.state = "loading";
    part(replay, "label").textContent = "Loading";
    const client = await unpack("player");
    const frame = document.createElement("iframe");
    frame.title = `3D replay: ${part(replay, "bar").querySelector("strong").textContent}`;
    frame.srcdoc = client.replace(window.RECORDING_GOES_HERE, () => part(replay, "recording").textContent);
    part(replay, "close").hidden = false;
    part(replay, "stage").prepend(frame);
    whenLoaded(replay, frame);
  };

  for (const replay of document.querySelectorAll(".replay")) {
    part(replay, "start").addEventListener("click", () => start(replay));
    part(replay, "close").addEventListener("click", () => {
      stop(replay);
      part(replay, "start").focus();
    });
    part(replay, "toggle").addEventListener("click", () => setPlaying(replay, !running.get(replay).playing));
    part(replay, "back").addEventListener("click", () => stepBy(replay, -1));
    part(replay, "on").addEventListener("click", () => stepBy(replay, 1));
    part(replay, "seek").addEventListener("input", (event) => seek(replay, Number(event.target.value)));
    replay.addEventListener("keydown", (event) => onKey(event, replay));
  }
})();
