// The focus, kept where somebody has it: a button that is off while its call is on its way loses it in browsers.

/** Keeps who has the focus now. @returns {() => void} gives it back, to the page's heading where they are gone, unless somebody else has it by then */
export function keptFocus() {
  const held = document.activeElement;
  return () => {
    if (document.activeElement && document.activeElement !== document.body) return;
    const takes = held?.isConnected && !held.disabled ? held : document.querySelector("#content h1");
    takes?.focus({ preventScroll: true });
  };
}
