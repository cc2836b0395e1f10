"use strict";
// Plots are drawn when they come near the window, replays when they are started: the page itself opens at once.
(() => {
  const unpacked = {};
  // The text of a <script> that holds gzip in base64.
  const unpack = (id) => unpacked[id] ??= (async () => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  })();

  let library;
  const plotly = () => library ??= unpack("plotly").then((text) => {
    const script = document.createElement("script");
    script.textContent = text;
    document.head.append(script);
    return window.Plotly;
  });

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // What a figure does not say itself comes from the page.
  const dressed = (figure, narrow) => {
    const axis = { gridcolor: style("--line"), linecolor: style("--line"), zerolinecolor: style("--line"), automargin: true };
    const round = "polar" in figure.layout || figure.data.some((trace) => /polar/.test(trace.type));
    const template = { layout: {
      colorway: ["#808b9b", "#406ce8", "#be5c3a", "#0d9488", "#7858b4", "#d9a400"],
      font: { family: style("--sans"), size: narrow ? 12 : 13.5, color: style("--ink") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: axis, yaxis: axis,
      polar: { bgcolor: "rgba(0,0,0,0)", angularaxis: axis, radialaxis: axis },
      scene: { xaxis: axis, yaxis: axis, zaxis: axis },
      margin: narrow ? { l: 44, r: 12, t: 36, b: 44 } : { l: 64, r: 24, t: 48, b: 56 },
      legend: round ? { orientation: "h", x: 0.5, xanchor: "center", y: -0.12, yanchor: "top" }
        : { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: style("--line"), activecolor: style("--soft") },
      hoverlabel: { font: { family: style("--sans") } },
    } };
    const layout = { ...figure.layout, template, autosize: true };
    delete layout.width;
    const height = figure.layout.height ?? 420;
    layout.height = narrow && height < 600 ? Math.min(height, 420) : height; // taller ones have a row a line
    return layout;
  };

  const draw = async (canvas) => {
    const library = await plotly();
    const figure = JSON.parse(canvas.querySelector("script").textContent);
    const narrow = canvas.clientWidth < 520;
    const holder = canvas.querySelector(".drawing") ?? canvas.appendChild(document.createElement("div"));
    holder.className = "drawing";
    await library.react(holder, figure.data, dressed(figure, narrow),
      { responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover" });
    canvas.dataset.state = "drawn";
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((e) => e.isIntersecting)) {
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "600px" });
  document.querySelectorAll(".plot .canvas").forEach((canvas) => near.observe(canvas));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.querySelectorAll(".canvas[data-state=drawn]").forEach(draw));

  const stop = (replay) => {
    replay.querySelector("iframe")?.remove();
    replay.querySelector(".start").hidden = false;
    replay.querySelector(".label").textContent = "Play in 3D";
    replay.querySelector(".close").hidden = true;
    const head = replay.querySelector(".head");
    if (head) head.hidden = true;
    replay.dataset.state = "poster";
  };

  // Where the player is; undefined until it plays.
  const playedTime = (frame) => {
    const slider = frame.contentDocument?.querySelector("[role=slider]");
    return slider ? Number(slider.getAttribute("aria-valuenow")) : undefined;
  };

  // The line over the strips of modes; replays of whole robots have none.
  const moveHead = (head, first, last, share) => {
    head.hidden = false;
    head.style.left = `${first.parentElement.clientWidth - first.clientWidth + first.clientWidth * Math.min(1, share)}px`;
    head.style.height = `${last.getBoundingClientRect().bottom - first.getBoundingClientRect().top + 6}px`;
  };

  const follow = (replay, frame) => {
    if (!frame.isConnected) return;
    const time = playedTime(frame);
    if (time !== undefined) {
      replay.dataset.state = "playing";
      replay.querySelector(".start").hidden = true;
      replay.dataset.time = time;
      const strips = replay.querySelectorAll(".strip"), head = replay.querySelector(".head");
      if (head) moveHead(head, strips[0], strips[strips.length - 1], time / replay.dataset.duration);
    }
    requestAnimationFrame(() => follow(replay, frame));
  };

  const start = async (replay) => {
    // One player at a time: browsers allow few 3D contexts, and a phone has little memory.
    document.querySelectorAll(".replay:not([data-state=poster])").forEach(stop);
    replay.dataset.state = "loading";
    replay.querySelector(".label").textContent = "Loading";
    const client = await unpack("player");
    const recording = replay.querySelector(".recording").textContent;
    const given = `<script>window.__VISER_EMBED_DATA__="${recording}";window.__VISER_EMBED_CONFIG__={darkMode:false};</scr` + "ipt>";
    const frame = document.createElement("iframe");
    frame.title = "3D replay";
    frame.srcdoc = client.replace("</head>", () => given + "</head>");
    replay.querySelector(".close").hidden = false;
    replay.querySelector(".stage").prepend(frame);
    follow(replay, frame);
  };

  for (const replay of document.querySelectorAll(".replay")) {
    replay.querySelector(".start").addEventListener("click", () => start(replay));
    replay.querySelector(".close").addEventListener("click", () => stop(replay));
  }
})();
