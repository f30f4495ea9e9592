// Keeps a part of a page up to date while somebody uses it: the element with `data-live`, every so many seconds. Without
// scripts the page is loaded again by hand.

/** Without a sign of the person for so long it stops. Otherwise an open tab would keep the session for ever. */
const idleMs = 10 * 60_000;
let lastSignMs = Date.now();
for (const sign of ['pointerdown', 'keydown', 'scroll', 'focus'])
  addEventListener(
    sign,
    () => {
      lastSignMs = Date.now();
    },
    { passive: true },
  );

function isLooking(part) {
  // What has the focus is not taken away.
  return !document.hidden && Date.now() - lastSignMs < idleMs && !part.contains(document.activeElement);
}

async function refresh(part) {
  const response = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'error' });
  if (!response.ok) return part;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const fresh = page.querySelector(`#${part.id}`);
  if (fresh === null || fresh.textContent === part.textContent) return part;
  const placed = document.adoptNode(fresh);
  part.replaceWith(placed);
  return placed;
}

async function follow(first) {
  let part = first;
  // A part that is finished has no `data-live` any more.
  while (part.dataset.live !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, Number(part.dataset.live) * 1_000));
    if (!isLooking(part)) continue;
    try {
      part = await refresh(part);
    } catch {
      // No connection, or the session ended. The next round tries again.
    }
  }
}

const first = document.querySelector('[data-live]');
if (first !== null) follow(first);
