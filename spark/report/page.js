// Draws the charts in the colors of page.css, for the active color scheme; filters and folds long tables.
"use strict";
(() => {
  const NARROW = 560; // pixels: more than four times would overlap
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;

  // Plotly does not know CSS variables: each "var(--…)" is replaced by its current color.
  const colour = (text) => {
    probe.style.color = text;
    return getComputedStyle(probe).color;
  };
  const coloured = (value, key) => {
    if (Array.isArray(value)) return value.map((item) => coloured(item, key));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, coloured(item, name)]));
    const isColour = typeof value === "string" && /color/i.test(key) && value.startsWith("var(--");
    return isColour ? colour(value) : value;
  };

  const charts = [...document.querySelectorAll(".chart")].map((place) => ({
    place,
    figure: JSON.parse(document.getElementById(place.dataset.figure).textContent),
  }));
  const config = { responsive: true, displayModeBar: false, scrollZoom: false, doubleClick: "reset" };
  const draw = ({ place, figure }) => {
    const { data, layout } = coloured(figure, "figure");
    if (layout.xaxis.type === "date" && place.clientWidth < NARROW) layout.xaxis.nticks = 4;
    return Plotly.react(place, data, layout, config);
  };
  // The library is compressed. It may run as a script of this page, because the page's policy has its digest.
  const unpack = async () => {
    const text = atob(document.getElementById("library").textContent);
    const packed = new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))]);
    const script = document.createElement("script");
    script.textContent = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
    document.head.append(script);
  };
  const inWords = () => {
    for (const { place } of charts) {
      place.textContent = `This browser is too old to draw it. ${place.getAttribute("aria-label")}`;
      place.style.height = "auto";
    }
  };
  const library = charts.length ? unpack().catch(inWords) : Promise.resolve();
  const drawAll = async () => {
    await library;
    for (const chart of window.Plotly ? charts : []) {
      await draw(chart);
      await new Promise((resume) => setTimeout(resume)); // so that the page can be read meanwhile
    }
    root.dataset.drawn = scheme();
  };

  const scheme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const toggle = document.querySelector(".theme");
  const other = () => (scheme() === "dark" ? "light" : "dark");
  const changed = () => {
    toggle.textContent = other() === "dark" ? "Dark colors" : "Light colors";
    drawAll();
  };
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = other();
    changed();
  });
  dark.addEventListener("change", changed);

  // A long table shows its first rows, or all rows that match the search text.
  for (const tools of document.querySelectorAll(".tools")) {
    const rows = [...tools.nextElementSibling.querySelectorAll("tbody tr")];
    const [find, more] = [tools.querySelector("input"), tools.querySelector("button")];
    const first = Number(tools.dataset.first);
    let all = false;
    const show = () => {
      const wanted = find.value.trim().toLowerCase();
      rows.forEach((row, number) => {
        row.hidden = wanted ? !row.cells[0].textContent.toLowerCase().includes(wanted) : !all && number >= first;
      });
      more.textContent = all ? `Only the first ${first}` : `Show ${(rows.length - first).toLocaleString("en")} more`;
      more.setAttribute("aria-expanded", String(all));
    };
    more.addEventListener("click", () => {
      all = !all;
      show();
    });
    find.addEventListener("input", show);
    tools.hidden = false;
    show();
  }

  // On a phone a table of cards is several screens long, so it is folded. A printout contains all of it.
  const folds = [...document.querySelectorAll(".fold")];
  const narrow = matchMedia("(max-width: 640px)");
  const fold = (isFolded) => folds.forEach((table) => { table.open = !isFolded; });
  narrow.addEventListener("change", () => fold(narrow.matches));
  addEventListener("beforeprint", () => fold(false));
  fold(narrow.matches);

  changed();
})();
