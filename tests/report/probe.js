// Looks at an open report from inside the page and returns what a reader would see, as plain data.
(() => {
  const shown = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 0;
  const parts = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // Backgrounds may be translucent: they are laid over one another from the page up.
  const background = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parts(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, [r, g, b, a = 1]) =>
      [r, g, b].map((v, i) => v * a + under[i] * (1 - a)), [255, 255, 255]);
  };
  const contrast = (element) => {
    const style = getComputedStyle(element);
    const ink = parts(element instanceof SVGElement ? style.fill : style.color).slice(0, 3);
    const [dark, light] = [luminance(ink), luminance(background(element))].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const ownText = (element) => [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const words = (element) => `${element.tagName} "${element.textContent.trim().slice(0, 40)}"`;

  const charts = [...document.querySelectorAll("svg[role=img]")].filter(shown);
  const size = (text) => {
    const svg = text.ownerSVGElement;
    return parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  };
  const closed = document.documentElement.scrollWidth;
  // On the screen a reader can unfold these, but not on paper.
  const hidden = [...document.querySelectorAll("details")].filter((d) => !d.open && d.offsetHeight <
    [...d.children].reduce((sum, part) => sum + part.offsetHeight, 0)).map(words);
  document.querySelectorAll("details").forEach((details) => { details.open = true; });
  const texts = [...document.body.querySelectorAll("*")].filter((e) =>
    !["SCRIPT", "STYLE", "title", "desc"].includes(e.tagName) && ownText(e) && shown(e));
  const tables = [...document.querySelectorAll("table")];
  return {
    charts: charts.length,
    named: charts.filter((c) => c.querySelector("title")?.textContent && c.querySelector("desc")?.textContent).length,
    drawn: charts.filter((c) => c.querySelector("path.line, rect.beam") && [...c.querySelectorAll("text")].some(shown)).length,
    smallest: Math.min(...charts.flatMap((c) => [...c.querySelectorAll("text")].map(size))),
    spilled: charts.flatMap((c) => [...c.querySelectorAll("text")].filter((t) => {
      const [text, svg] = [t.getBoundingClientRect(), c.getBoundingClientRect()];
      return text.left < svg.left - 1 || text.right > svg.right + 1 || text.bottom > svg.bottom + 1;
    }).map(words)),
    hidden,
    cut: tables.filter((t) => t.getBoundingClientRect().right > document.documentElement.clientWidth).map(words),
    narrowed: tables.filter((t) => t.scrollWidth > t.parentElement.clientWidth + 1).map(words),
    // A choice that changes nothing.
    idle: document.querySelector("g.row") ? [] :
      [...document.querySelectorAll(".tools label")].filter((l) => l.textContent.startsWith("Bars")).map(words),
    sortable: tables.filter((t) => t.classList.contains("sort")).length,
    tables: tables.filter((t) => t.tHead && t.tBodies[0].rows.length > 0).length,
    figures: tables.flatMap((t) => [...t.querySelectorAll("tbody td")]).filter((d) => /\d/.test(d.textContent)).length,
    // The title of a comparison is its verdict, with figures in it.
    verdicts: [...document.querySelectorAll("h1, .verdicts li")].filter(shown)
      .filter((said) => said.matches("li") || /\d/.test(said.textContent)).map((said) => said.textContent),
    faint: texts.filter((e) => contrast(e) < 4.5).map((e) => `${words(e)} ${contrast(e).toFixed(2)}`),
    width: innerWidth,
    overflow: Math.max(closed, document.documentElement.scrollWidth) - innerWidth,
    scripts: [...document.scripts].filter((s) => s.type !== "application/json").map((s) => s.textContent),
    policy: document.querySelector("meta[http-equiv=Content-Security-Policy]")?.content || "",
  };
})()
