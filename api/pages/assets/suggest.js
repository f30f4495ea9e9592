// Shows companies while a name is typed. Without scripts the form finds them when it is sent.

const pauseMs = 250;
const field = document.querySelector('input[name="q"]');
const place = document.querySelector('#lugar-sugerencias');
let timer;
let running;

async function suggest() {
  running?.abort();
  const text = field.value.trim();
  if (text.length < 3 || /^[0-9 ]+$/.test(text)) {
    place.replaceChildren();
    return;
  }
  running = new AbortController();
  try {
    const response = await fetch(`${place.dataset.from}?${new URLSearchParams({ q: text })}`, {
      signal: running.signal,
      headers: { accept: 'text/html' },
      // A session that ended leads to the sign-in, which has no suggestions.
      redirect: 'error',
    });
    if (!response.ok) return place.replaceChildren();
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const list = page.querySelector('#sugerencias');
    place.replaceChildren(...(list?.children.length ? [document.adoptNode(list)] : []));
  } catch {
    // Typed on meanwhile, or no connection. The form still works.
  }
}

field?.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(suggest, pauseMs);
});
field?.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') place.replaceChildren();
});
