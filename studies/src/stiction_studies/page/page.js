"use strict";
// Plots are drawn when they come near the window, or when nothing else is to do: the page itself opens at once.

const unpacked = {};
// The text of a <script> that holds gzip in base64.
const unpack = (id) => unpacked[id] ??= (async () => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
})();

(() => {
  const PAPER = 680; // [px] width of a plot on paper
  let library;
  const plotly = () => library ??= unpack("plotly").then((text) => {
    const script = document.createElement("script");
    script.textContent = text;
    document.head.append(script);
    return window.Plotly;
  });

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The layout of a figure, completed by the style of the page.
  const dressed = (figure, narrow) => {
    const axis = { gridcolor: style("--line"), linecolor: style("--line"), zerolinecolor: style("--line"), automargin: true };
    const round = "polar" in figure.layout || figure.data.some((trace) => /polar/.test(trace.type));
    const template = { layout: {
      colorway: window.SERIES,
      font: { family: style("--sans"), size: narrow ? 12 : 13.5, color: style("--ink") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: axis, yaxis: axis,
      polar: { bgcolor: "rgba(0,0,0,0)", angularaxis: axis, radialaxis: axis },
      scene: { xaxis: axis, yaxis: axis, zaxis: axis },
      margin: narrow ? { l: 44, r: 12, t: 36, b: 44 } : { l: 64, r: 24, t: 48, b: 56 },
      legend: round ? { orientation: "h", x: 0.5, xanchor: "center", y: -0.12, yanchor: "top" }
        : { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: style("--soft"), activecolor: style("--accent") },
      hoverlabel: { font: { family: style("--sans") } },
    } };
    const layout = { ...figure.layout, template, autosize: true };
    delete layout.width;
    const height = figure.layout.height ?? 420;
    layout.height = narrow && height < 600 ? Math.min(height, 420) : height; // taller ones have a row a line
    return layout;
  };

  // The buttons over a plot, for the keyboard and for those who listen.
  const labelButtons = (holder) => holder.querySelectorAll(".modebar-btn").forEach((button) => {
    button.setAttribute("role", "button");
    button.setAttribute("aria-label", button.dataset.title ?? "");
    button.tabIndex = 0;
    button.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      button.click();
    };
  });

  const title = (figure) => figure.layout.title?.text ?? "";
  const describe = (canvas, figure) => {
    const names = [...new Set(figure.data.filter((trace) => trace.showlegend !== false).map((trace) => trace.name))];
    const lines = names.filter(Boolean).join(", ");
    canvas.dataset.caption ??= canvas.getAttribute("aria-label").replace(/^Plot: /, "");
    canvas.setAttribute("aria-label", `Plot: ${title(figure)}. ${lines ? `Of ${lines}. ` : ""}${canvas.dataset.caption}`
      .replace(/<[^>]*>/g, ""));
  };

  const drawAt = (plotly, canvas, width) => {
    const figure = JSON.parse(canvas.querySelector("script").textContent);
    const narrow = (width ?? canvas.clientWidth) < 520;
    const holder = canvas.querySelector(".drawing") ?? canvas.appendChild(document.createElement("div"));
    holder.className = "drawing";
    const layout = dressed(figure, narrow);
    if (width) Object.assign(layout, { width, autosize: false });
    describe(canvas, figure);
    return plotly.react(holder, figure.data, layout, {
      responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover", showSendToCloud: false,
      modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d"],
    }).then(() => labelButtons(holder));
  };

  const draw = async (canvas) => {
    await drawAt(await plotly(), canvas);
    canvas.dataset.state = "drawn";
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((e) => e.isIntersecting)) {
      near.unobserve(entry.target);
      if (entry.target.dataset.state === "waiting") draw(entry.target);
    }
  }, { rootMargin: "600px" });
  const canvases = document.querySelectorAll(".plot .canvas");
  canvases.forEach((canvas) => near.observe(canvas));
  // The others one by one when nothing else is to do, so that all are there when the page is printed.
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 500));
  const drawNext = () => {
    const next = document.querySelector(".canvas[data-state=waiting]");
    if (next) draw(next).then(() => idle(drawNext));
  };
  window.addEventListener("load", () => idle(drawNext));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.querySelectorAll(".canvas[data-state=drawn]").forEach(draw));

  // A share of an axis's range: moved by `by` of its length, and `zoom` times as long.
  const moved = ([low, high], by, zoom) => {
    const middle = (low + high) / 2 + by * (high - low), half = zoom * (high - low) / 2;
    return [middle - half, middle + half];
  };
  const KEYS = { ArrowLeft: ["x", -0.1, 1], ArrowRight: ["x", 0.1, 1], ArrowDown: ["y", -0.1, 1], ArrowUp: ["y", 0.1, 1],
    "+": ["x", 0, 0.8], "=": ["x", 0, 0.8], "-": ["x", 0, 1.25] };
  const onKey = (event) => {
    const holder = event.currentTarget.querySelector(".drawing"), [name, by, zoom] = KEYS[event.key] ?? [];
    if (event.target !== event.currentTarget || !holder || event.ctrlKey || event.metaKey || event.altKey) return;
    const range = name && holder.layout[`${name}axis`]?.range;
    if (event.key === "0") window.Plotly.relayout(holder, { "xaxis.autorange": true, "yaxis.autorange": true });
    else if (range?.every((end) => typeof end === "number")) window.Plotly.relayout(holder, { [`${name}axis.range`]: moved(range, by, zoom) });
    else return;
    event.preventDefault();
  };
  canvases.forEach((canvas) => canvas.addEventListener("keydown", onKey));

  // On paper: light colours, plots as wide as the paper, all tables unfolded.
  const drawn = () => document.querySelectorAll(".canvas[data-state=drawn]");
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    document.querySelectorAll("details:not([open])").forEach((details) => {
      details.open = true;
      details.dataset.folded = "";
    });
    if (window.Plotly) drawn().forEach((canvas) => drawAt(window.Plotly, canvas, PAPER));
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    document.querySelectorAll("details[data-folded]").forEach((details) => {
      details.open = false;
      delete details.dataset.folded;
    });
    drawn().forEach(draw);
  });
})();
