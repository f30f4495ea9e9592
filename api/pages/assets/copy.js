// Adds to each box of code a button that copies it. Without scripts the code can be marked and copied as any text.

for (const box of document.querySelectorAll('.code-box')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy small';
  button.textContent = 'Copiar';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(box.querySelector('code')?.textContent ?? '');
    button.textContent = 'Copiado';
    button.classList.add('done');
    setTimeout(() => {
      button.textContent = 'Copiar';
      button.classList.remove('done');
    }, 2_000);
  });
  // Where the page is not served over TLS, browsers give no access to the clipboard.
  if (navigator.clipboard !== undefined) box.append(button);
}
