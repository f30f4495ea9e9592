// Keeps a part of a page up to date while somebody looks at it: the element with `data-live`, every so many seconds. With
// `data-stream`, the address of a stream of events, it is read again when an event arrives, and by the clock only while
// the stream cannot be had. Without scripts the page is loaded again by hand.

/** Without a sign of the person for so long it stops. Otherwise an open tab would keep the session for ever. */
const idleMs = 10 * 60_000;
const tickMs = 500;
/** The shortest time between two reads. Many events of one edition arrive together. */
const shortestMs = 1_000;

let lastSignMs = Date.now();
for (const sign of ['pointerdown', 'keydown', 'scroll', 'focus'])
  addEventListener(
    sign,
    () => {
      lastSignMs = Date.now();
    },
    { passive: true },
  );

const status = document.querySelector('#en-vivo');
let part = document.querySelector('[data-live]');
let stream = null;
/** Whether something may have happened since the part was read. */
let isStale = false;
let isRefused = false;

function say(text) {
  if (status !== null && status.textContent !== text) status.textContent = text;
}

function openStream() {
  stream = new EventSource(`${part.dataset.stream}${location.search}`);
  stream.onopen = () => {
    // Events between the page's reading and this moment are in no stream.
    isStale = true;
    say('En vivo: lo nuevo aparece solo.');
  };
  stream.onmessage = () => {
    isStale = true;
  };
  stream.onerror = () => {
    // A cut line is opened again by the browser. A refusal is final, for example when the session has ended.
    if (stream?.readyState === EventSource.CLOSED) {
      isRefused = true;
      closeStream();
    } else say('Sin conexión: se intenta de nuevo.');
  };
}

function closeStream() {
  stream?.close();
  stream = null;
  say('');
}

async function refresh() {
  const response = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'error' });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const fresh = page.querySelector(`#${part.id}`);
  if (fresh === null || fresh.textContent === part.textContent) return;
  const known = new Set([...part.querySelectorAll('li[id]')].map(({ id }) => id));
  for (const item of fresh.querySelectorAll('li[id]')) item.classList.toggle('fresh', !known.has(item.id));
  const placed = document.adoptNode(fresh);
  part.replaceWith(placed);
  part = placed;
}

async function follow() {
  let readMs = Date.now();
  // A part that is finished has no `data-live` any more.
  while (part.dataset.live !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, tickMs));
    const isThere = !document.hidden && Date.now() - lastSignMs < idleMs;
    // A browser opens six connections to a server at most, so tabs that nobody sees have none.
    if (!isThere) closeStream();
    else if (stream === null && part.dataset.stream !== undefined && !isRefused) openStream();
    const isFollowing = stream?.readyState === EventSource.OPEN;
    const pauseMs = isFollowing ? shortestMs : Number(part.dataset.live) * 1_000;
    if (!isThere || Date.now() < readMs + pauseMs || (isFollowing && !isStale)) continue;
    if (part.contains(document.activeElement)) {
      // What has the focus is not taken away.
      if (isStale) say('Hay algo nuevo: aparece al salir de la lista.');
      continue;
    }
    isStale = false;
    readMs = Date.now();
    try {
      await refresh();
      if (isFollowing) say('En vivo: lo nuevo aparece solo.');
    } catch {
      // No connection, or the session ended. The next round tries again.
      isStale = true;
    }
  }
  closeStream();
}

if (part !== null) follow();
