import { limaDay } from '../../../../schemas/lima-time.ts';

/** Pages that name the day of publication beside a file, as the official ones do (dd/mm/yyyy). */
const titles = {
  agentes_retencion: 'Padrón de Agentes de Retención del IGV',
  buenos_contribuyentes: 'Padrón de Buenos Contribuyentes',
} as const;

export function listPage(kind: keyof typeof titles, file: string, publishedAt: Date): string {
  return page(`<h2>${titles[kind]}</h2>
<p>Actualizado al : ${written(publishedAt)}</p>
<p><a href="${file}">${file}</a></p>`);
}

export function dailyRegisterPage(publishedAt: Date): string {
  return page(`<div class="titulo">Padrón Reducido del RUC <b>${written(publishedAt)}</b></div>
<p><a href="padron_reducido_ruc.zip">padrón_reducido_RUC.zip</a></p>`);
}

function written(at: Date): string {
  return limaDay(at).split('-').reverse().join('/');
}

function page(body: string): string {
  return `<!DOCTYPE html>
<html lang="es"><head><meta charset="utf-8"><title>SUNAT</title></head>
<body>
${body}
</body></html>
`;
}
