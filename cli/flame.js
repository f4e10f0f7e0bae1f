"use strict";
(function () {
	const margin = 10, letter = 7;
	const byId = id => document.getElementById(id);
	const width = document.documentElement.viewBox.baseVal.width - 2 * margin;
	const frames = Array.from(byId("frames").children).map(g => ({
		g, rect: g.querySelector("rect"), text: g.querySelector("text"), title: g.querySelector("title").textContent,
		x: Number(g.dataset.x), w: Number(g.dataset.w), d: Number(g.dataset.d), name: g.dataset.n, fill: g.querySelector("rect").getAttribute("fill"),
	}));
	let query = null;

	function label(f, pixels) {
		const most = Math.floor((pixels - 6) / letter);
		return most < 3 ? "" : f.name.length <= most ? f.name : f.name.slice(0, most - 2) + "..";
	}

	// What is in the frame fills the width; what it is in, too, but pale.
	function zoom(to) {
		const scale = width / to.w;
		for (const f of frames) {
			const around = f.x <= to.x && f.x + f.w >= to.x + to.w && f.d < to.d;
			const inside = f.x >= to.x && f.x + f.w <= to.x + to.w && f.d >= to.d;
			f.g.style.display = around || inside ? "" : "none";
			if (!around && !inside)
				continue;
			const x = around ? margin : margin + (f.x - to.x) * scale, w = around ? width : f.w * scale;
			f.rect.setAttribute("x", x.toFixed(2));
			f.rect.setAttribute("width", w.toFixed(2));
			f.text.setAttribute("x", (x + 3).toFixed(2));
			f.text.textContent = label(f, w);
			f.g.style.opacity = around ? 0.5 : 1;
		}
		byId("reset").setAttribute("visibility", to === frames[0] ? "hidden" : "visible");
	}

	// Frames in frames that are found count once. Text without capitals matches capitals, too.
	function search(text) {
		try {
			query = text ? new RegExp(text, text === text.toLowerCase() ? "i" : "") : null;
		} catch (e) {
			byId("found").textContent = "not a regular expression: " + text;
			return;
		}
		let sum = 0, end = -1;
		const found = frames.filter(f => query && f.d && query.test(f.name));
		for (const f of frames)
			f.rect.setAttribute("fill", f.fill);
		found.sort((a, b) => a.x - b.x || a.d - b.d);
		for (const f of found) {
			f.rect.setAttribute("fill", "#c030e0");
			if (f.x >= end) {
				sum += f.w;
				end = f.x + f.w;
			}
		}
		byId("found").textContent = query ? "found " + text + ": " + (100 * sum / frames[0].w).toFixed(3) + " %" : "";
		byId("search").textContent = query ? "clear" : "search";
	}

	function ask() {
		const text = query ? "" : prompt("Functions whose name matches this regular expression:", "");
		if (text !== null)
			search(text);
	}

	if (!frames.length)
		return;
	for (const f of frames) {
		f.g.addEventListener("click", () => zoom(f));
		f.g.addEventListener("mouseover", () => { byId("says").textContent = f.title; });
		f.g.addEventListener("mouseout", () => { byId("says").textContent = ""; });
	}
	byId("reset").addEventListener("click", () => zoom(frames[0]));
	byId("search").addEventListener("click", ask);
	addEventListener("keydown", e => {
		if (e.key === "F3" || ((e.ctrlKey || e.metaKey) && e.key === "f")) {
			e.preventDefault();
			query = null;
			ask();
		} else if (e.key === "Escape") {
			search("");
			zoom(frames[0]);
		}
	});
	// out.svg#search=TEXT and out.svg#zoom=NAME, as links.
	const hash = decodeURIComponent(location.hash.slice(1));
	if (hash.startsWith("search="))
		search(hash.slice(7));
	if (hash.startsWith("zoom="))
		zoom(frames.find(f => f.name === hash.slice(5)) || frames[0]);
})();
