// Fingers, wheel and keys turned into intentions: pan, zoom around a point, point at, tap, step.

const TAP_SLOP_PX = 6;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * @typedef {object} Intentions
 * @property {(dx: number, dy: number) => void} pan
 * @property {(factor: number, x: number, y: number) => void} zoom
 * @property {(factor: number) => void} zoomMiddle
 * @property {() => void} fit
 * @property {(x: number, y: number) => void} point
 * @property {() => void} leave
 * @property {(x: number, y: number, touch: boolean) => void} tap
 * @property {(dx: number, dy: number) => void} step
 * @property {() => void} choose
 * @property {() => void} unchoose
 * @property {() => void} close
 */

/** @param {HTMLElement} element @param {Intentions} to @returns {() => void} takes the listeners off again */
export function listen(element, to) {
  /** @type {Map<number, {x: number, y: number}>} */
  const fingers = new Map();
  let moved = false;
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const middle = (points) => ({
    x: points.reduce((total, { x }) => total + x, 0) / points.length,
    y: points.reduce((total, { y }) => total + y, 0) / points.length,
  });
  const spread = ([a, b]) => (b ? Math.hypot(a.x - b.x, a.y - b.y) : 0);

  const down = (event) => {
    if (event.button > 0) return;
    if (fingers.size === 0) moved = false;
    fingers.set(event.pointerId, at(event));
    element.setPointerCapture(event.pointerId);
  };
  const move = (event) => {
    if (!fingers.has(event.pointerId)) return to.point(at(event).x, at(event).y);
    const now = at(event);
    const start = fingers.get(event.pointerId);
    const few = fingers.size === 1 && !moved;
    if (few && Math.hypot(now.x - start.x, now.y - start.y) < TAP_SLOP_PX) return;
    moved = true;
    const before = [...fingers.values()];
    fingers.set(event.pointerId, now);
    const after = [...fingers.values()];
    const [from, onto] = [middle(before), middle(after)];
    to.pan(onto.x - from.x, onto.y - from.y);
    if (spread(before) > 0) to.zoom(spread(after) / spread(before), onto.x, onto.y);
  };
  const up = (event) => {
    if (!fingers.delete(event.pointerId) || moved || event.type === "pointercancel") return;
    const { x, y } = at(event);
    to.tap(x, y, event.pointerType !== "mouse");
  };
  const wheel = (event) => {
    event.preventDefault();
    const { x, y } = at(event);
    const step = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    to.zoom(Math.exp(-step * (event.ctrlKey ? 0.01 : 0.002)), x, y);
  };
  const key = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow) to.step(...arrow);
    else if (event.key === "Enter" || event.key === " ") to.choose();
    else if (event.key === "Backspace" || event.key === "Delete") to.unchoose();
    else if (event.key === "Escape") to.close();
    else if (event.key === "+" || event.key === "=") to.zoomMiddle(1.5);
    else if (event.key === "-") to.zoomMiddle(1 / 1.5);
    else if (event.key === "0") to.fit();
    else return;
    event.preventDefault();
  };
  const listeners = {
    pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, pointerleave: to.leave, wheel, keydown: key,
  };
  for (const [name, listener] of Object.entries(listeners)) element.addEventListener(name, listener, { passive: false });
  return () => {
    for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener);
  };
}
