/** Styles of the report: light and dark, wide and narrow, on paper. */
export const style = `
:root{color-scheme:light dark;--page:#f6f7f5;--card:#fff;--ink:#17211d;--soft:#56635d;--rule:#dfe4e0;--one:#0b7a6b;--two:#c2570c;--three:#6d5bd0;--bad:#b3261e;--good:#146c43;--warn:#8a5a00;--band:#c2570c1f;--goodbg:#e2f3ea;--badbg:#fbe6e4;--h0:#eef2f0}
@media(prefers-color-scheme:dark){:root{--page:#0f1513;--card:#18211e;--ink:#e9efec;--soft:#a3b1ab;--rule:#2c3834;--one:#4cc9b4;--two:#f39a55;--three:#a99bff;--bad:#ff8a80;--good:#6fdc9f;--warn:#ffca70;--band:#f39a5526;--goodbg:#12352a;--badbg:#43201d;--h0:#202b27}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1080px;margin:0 auto;padding:28px 20px 56px}
h1,h2,h3,p,ul,ol,dl,dd,figure{margin:0;padding:0}
h1{font-size:clamp(1.6rem,5vw,2.4rem);line-height:1.15;letter-spacing:-.02em;text-wrap:balance}
h2{font-size:1.2rem;letter-spacing:-.01em;margin:40px 0 14px}
h3{font-size:1rem}
.eyebrow{color:var(--soft);font-size:.85rem;letter-spacing:.02em}
.lead{color:var(--soft);margin-top:8px;max-width:70ch}
header{display:grid;gap:6px 24px;grid-template-columns:1fr auto;align-items:start}
.verdict{border-radius:999px;padding:6px 16px;font-weight:650;white-space:nowrap;background:var(--goodbg);color:var(--good)}
.verdict.bad{background:var(--badbg);color:var(--bad)}
.card,.chart,.scroll{background:var(--card);border:1px solid var(--rule);border-radius:14px}
.card{padding:18px 20px}
.card h3{margin-bottom:6px;text-wrap:balance}
details{margin-top:10px;color:var(--soft);font-size:.88rem}
summary{cursor:pointer;color:var(--one);font-weight:550}
summary:focus-visible{outline:2px solid var(--one);outline-offset:3px;border-radius:4px}
details p{margin-top:6px}
.charts{display:grid;gap:12px}
.chart{padding:18px 20px 34px}
figcaption{display:flex;flex-wrap:wrap;gap:4px 20px;justify-content:space-between;align-items:baseline;margin-bottom:14px}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;list-style:none;color:var(--soft);font-size:.85rem}
.swatch{display:inline-block;width:.8em;height:.8em;border-radius:3px;margin-right:.45em;vertical-align:-.05em;background:currentColor}
.swatch.one{color:var(--one)}.swatch.two{color:var(--two)}.swatch.three{color:var(--three)}
.plot{display:grid;grid-template:100%/auto minmax(0,1fr);gap:10px;height:220px}
.marks{position:relative;width:3.4em;font-size:.75rem;color:var(--soft);font-variant-numeric:tabular-nums}
.marks span{position:absolute;right:0;transform:translateY(50%);white-space:nowrap}
.canvas{position:relative;min-width:0}
.canvas svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.times span{position:absolute;top:100%;margin-top:6px;transform:translateX(-50%);font-size:.75rem;color:var(--soft);white-space:nowrap}
.grid{stroke:var(--rule);stroke-width:1}
.line{fill:none;stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}
.line.one{stroke:var(--one)}.line.two{stroke:var(--two)}.line.three{stroke:var(--three)}
.area{stroke:none;opacity:.16}.area.one{fill:var(--one)}.area.two{fill:var(--two)}.area.three{fill:var(--three)}
.band{fill:var(--band)}
.limit{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 4}
.limit-name{position:absolute;right:0;color:var(--bad);font-size:.75rem;transform:translateY(-2px);background:var(--card);padding:0 4px;border-radius:3px}
.scroll{padding:4px 0;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{padding:9px 18px;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--soft);font-weight:500;font-size:.82rem}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td code{font-size:.85em}
.met{color:var(--good);font-weight:600;white-space:nowrap}.missed{color:var(--bad);font-weight:600;white-space:nowrap}
.stack{display:flex;height:14px;min-width:90px;border-radius:4px;overflow:hidden;background:var(--h0)}
.stack span{display:block}
.delivered{background:var(--one)}.given-up{background:var(--bad)}.expired{background:var(--two)}.cancelled{background:var(--soft)}.waiting{background:var(--three)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;font-size:.85rem}
footer{margin-top:44px;color:var(--soft);font-size:.88rem}
footer .card{color:var(--ink);margin:10px 0}
@media(max-width:640px){main{padding:20px 14px 40px}header{grid-template-columns:1fr}.verdict{justify-self:start;margin-top:8px}.chart{padding:14px 14px 32px}.card{padding:15px 16px}.marks{width:2.9em}.plot{height:180px}th,td{padding:8px 12px}.wide{display:none}}
@media print{body{background:#fff}details>*{display:block}.chart,.card{break-inside:avoid}}
`
