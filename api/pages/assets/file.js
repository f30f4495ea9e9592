// Adds a choice of a file to a box of text: the file is read in the browser and its text put into the box, where it can
// be seen before it is sent. Without scripts the text is pasted.

const maxBytes = 200_000;

function add(place) {
  const box = document.getElementById(place.dataset.fileFor);
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = '.csv,.txt,text/csv,text/plain';
  const label = document.createElement('label');
  label.textContent = 'O elija un archivo CSV o de texto';
  const said = document.createElement('p');
  said.setAttribute('role', 'status');
  input.id = `${box.id}-archivo`;
  label.htmlFor = input.id;
  input.addEventListener('change', async () => {
    const file = input.files[0];
    if (file === undefined) return;
    if (file.size > maxBytes) {
      said.textContent = 'El archivo es demasiado grande: divídalo en partes de hasta 1,000 líneas.';
      return;
    }
    box.value = await file.text();
    said.textContent = 'El archivo está en la caja de arriba. Revíselo y agréguelo.';
  });
  place.append(label, input, said);
}

for (const place of document.querySelectorAll('[data-file-for]')) add(place);
