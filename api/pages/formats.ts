// Numbers and times as people in Peru write them. Times are those of Lima.

const numbers = new Intl.NumberFormat('es-PE');
const percentages = new Intl.NumberFormat('es-PE', { style: 'percent', maximumFractionDigits: 1 });
const moments = new Intl.DateTimeFormat('es-PE', {
  timeZone: 'America/Lima',
  day: '2-digit',
  month: '2-digit',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const days = new Intl.DateTimeFormat('es-PE', {
  timeZone: 'America/Lima',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
});

/** 12,345 */
export function number(value: number): string {
  return numbers.format(value);
}

/** 12.3 % @param of the whole; a part of nothing is 0 % */
export function share(value: number, of: number): string {
  return percentages.format(of === 0 ? 0 : value / of);
}

/** 27/11/2026, 09:05 */
export function limaMoment(at: Date): string {
  return moments.format(at);
}

/** 27 de noviembre de 2026 @param day an instant, or a day YYYY-MM-DD */
export function longDay(day: Date | string): string {
  return days.format(typeof day === 'string' ? new Date(`${day}T12:00:00-05:00`) : day);
}

/** 29/11/2026 @param day YYYY-MM-DD */
export function shortDay(day: string): string {
  return `${day.slice(8, 10)}/${day.slice(5, 7)}/${day.slice(0, 4)}`;
}

const daysAndMonths = new Intl.DateTimeFormat('es-PE', { timeZone: 'America/Lima', day: '2-digit', month: '2-digit' });

/** 27/11 @param day YYYY-MM-DD */
export function dayAndMonth(day: string): string {
  return daysAndMonths.format(new Date(`${day}T12:00:00-05:00`));
}

const minuteMs = 60_000;

/** For how long, to the minute below an hour, else to the hour: 40 minutos, 1 hora, 2 días y 3 horas. */
export function duration(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / minuteMs));
  if (minutes < 60) return counted(minutes, 'minuto');
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)];
  const parts = [days > 0 && counted(days, 'día'), hours > 0 && counted(hours, 'hora')];
  return parts.filter((part) => part !== false).join(' y ');
}

function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
