// A log that is followed shows its end whenever something was added.
(() => {
  const toEnd = () => document.querySelectorAll(".t-log.t-follow").forEach((log) => { log.scrollTop = log.scrollHeight; });
  let asked = false;
  new MutationObserver((changes) => {
    const touched = changes.some((change) => change.target.closest?.(".t-log") || [...change.addedNodes].some((node) => node.querySelector?.(".t-log")));
    if (!touched || asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; toEnd(); });
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
})();
