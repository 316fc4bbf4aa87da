// Draws the page's plots out of its own data. Everything they show is in the tables too.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const DASHES = [[], [6, 4], [2, 3]];
  const TICKS = [0.30103, 1, 2, 3, 4];
  const TICK_NAMES = ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"];
  const NARROW = 480;
  const HEIGHT = 320;

  /** A colour of the style sheet as the canvas takes it, for the theme that shows now. */
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const resolved = getComputedStyle(probe).color;
    probe.remove();
    return resolved;
  };

  const number = (value) =>
    value == null ? "" : value >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3));

  const time = (ms) => (ms >= 1000 ? `${number(ms / 1000)} s` : `${number(ms)} ms`);

  /** The line's own dash beside its name. */
  const legend = {
    markers: {
      width: 2,
      dash: (plot, at) => ({ 0: "solid", 6: "dashed", 2: "dotted" })[plot.series[at].dash?.[0] ?? 0],
    },
  };

  /** Several lines over different x made into uPlot's one x and many y. */
  const aligned = (lines) => {
    const xs = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
    const columns = lines.map(({ points }) => {
      const known = new Map(points);
      return xs.map((x) => known.get(x) ?? null);
    });
    return [xs, ...columns];
  };

  const axis = (more) => ({
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui",
    ...more,
  });

  /** Powers of ten between the ends, and nothing between: a quiet logarithmic scale. */
  const decades = (_plot, _axis, low, high) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high * 1.001; power += 1) {
      if (10 ** power >= low * 0.999) found.push(10 ** power);
    }
    return found;
  };

  /** A logarithmic range whose ends are powers of ten. */
  const wholeDecades = (_plot, low, high) => [
    10 ** Math.floor(Math.log10(Math.max(low, 0.001))),
    10 ** Math.ceil(Math.log10(Math.max(high, 0.01))),
  ];

  const plotCurves = (host, curves) => {
    const lines = curves.map(({ label, count, ms }) => ({
      label,
      // the longest of all stands where one in `count` stands
      points: ms.map(([share, value]) => [share < 1 ? -Math.log10(1 - share) : Math.log10(count), value]),
    }));
    const series = lines.map(({ label }, at) => ({
      label,
      stroke: colour(`--c${(at % 5) + 1}`),
      dash: DASHES[at % DASHES.length],
      width: 2,
      spanGaps: true,
      points: { show: false },
      value: (_plot, value) => (value == null ? "" : time(value)),
    }));
    return new uPlot(
      {
        width: host.clientWidth,
        height: HEIGHT,
        scales: { x: { time: false, range: (_p, _low, high) => [0, Math.max(high, 2)] }, y: { distr: 3, range: wholeDecades } },
        cursor: { y: false },
        legend,
        axes: [
          axis({
            splits: host.clientWidth < NARROW ? TICKS.slice(1, -1) : TICKS,
            values: (_plot, splits) => splits.map((at) => TICK_NAMES[TICKS.indexOf(at)]),
          }),
          axis({ size: 64, splits: decades, values: (_plot, splits) => splits.map(time) }),
        ],
        series: [{ label: "answered", value: (_plot, x) => (x == null ? "" : `${+(100 * (1 - 10 ** -x)).toFixed(3)} %`) }, ...series],
      },
      aligned(lines),
      host,
    );
  };

  const plotIdle = (host, what) => {
    const { connections, series } = data.idle;
    host.parentElement.classList.add("names");
    return new uPlot(
      {
        width: host.clientWidth,
        height: HEIGHT,
        scales: {
          x: { time: false, distr: 3, log: 2, range: () => [connections[0], connections.at(-1)] },
          y: { distr: 3, range: wholeDecades },
        },
        focus: { alpha: 0.25 },
        cursor: { y: false, focus: { prox: 24 } },
        legend,
        axes: [
          axis({ splits: () => connections, filter: (_plot, splits) => splits, values: (_plot, splits) => splits.map(number) }),
          axis({ size: 64, splits: decades, values: (_plot, splits) => splits.map(number) }),
        ],
        series: [
          { label: "connections", value: (_plot, x) => number(x) },
          ...series.map(({ name, own }, at) => ({
            label: name,
            stroke: own ? colour("--accent") : colour(`--c${(at % 5) + 2}`),
            dash: own ? [] : DASHES[1 + (at % 2)],
            width: own ? 3 : 1.5,
            spanGaps: true,
            value: (_plot, value) => number(value),
          })),
        ],
      },
      [connections, ...series.map((line) => line[what])],
      host,
    );
  };

  let plots = [];
  const draw = () => {
    for (const { plot } of plots) plot.destroy();
    plots = [];
    for (const host of document.querySelectorAll("[data-curves]")) {
      const curves = data.curves.filter(({ kind, count }) => kind === host.dataset.curves && count > 0);
      if (curves.length) plots.push({ host, plot: plotCurves(host, curves) });
    }
    for (const host of document.querySelectorAll("[data-idle]")) {
      if (data.idle.connections.length) plots.push({ host, plot: plotIdle(host, host.dataset.idle) });
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("resize", () => {
    for (const { host, plot } of plots) plot.setSize({ width: host.clientWidth, height: HEIGHT });
  });
})();
