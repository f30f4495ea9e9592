import { z } from 'zod';
import { startOfLimaDay } from '../../schemas/lima-time.ts';
import { isRegisterName, type RegisterName, registerNames } from '../../schemas/registers.ts';
import { CommandError } from './context.ts';

// What commands take, checked: commander shows the error with the argument's or option's name.

/** A whole number from 1. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^[0-9]{1,15}$/.test(text) || value < 1)
    throw new CommandError(`"${text}" is not a whole number from 1.`, 'Give the number in digits, for example 1.');
  return value;
}

export function registerOf(text: string): RegisterName {
  if (isRegisterName(text)) return text;
  throw new CommandError(`There is no register "${text}".`, `Registers: ${registerNames.join(', ')}.`);
}

/** For an argument that may be given several times: each of them once. */
export function registersOf(text: string, previous: RegisterName[] | undefined): RegisterName[] {
  return [...new Set([...(previous ?? []), registerOf(text)])];
}

/** YYYY-MM-DD. */
export function dayOf(text: string): string {
  const day = new Date(`${text}T00:00:00Z`);
  if (!Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text) return text;
  throw new CommandError(`"${text}" is not a day.`, 'Write it as YYYY-MM-DD.');
}

/** The beginning of a day in Lima (YYYY-MM-DD), or an instant of ISO 8601 with its offset. */
export function instantOf(text: string): Date {
  if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return startOfLimaDay(dayOf(text));
  const instant = new Date(text);
  if (/T.*(Z|[+-][0-9]{2}:[0-9]{2})$/.test(text) && !Number.isNaN(instant.getTime())) return instant;
  throw new CommandError(`"${text}" is no time.`, 'Write YYYY-MM-DD, or for example 2026-11-20T09:00:00-05:00.');
}

/** A text that is not empty, without the spaces around it. */
export function filled(text: string, option: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new CommandError(`${option} is empty.`, `Give a text after ${option}.`);
  return trimmed;
}

/** An address that mail can go to. */
export function emailOf(text: string): string {
  const email = z.email().safeParse(text);
  if (email.success) return email.data;
  throw new CommandError(`"${text}" is no mail address.`, 'Write it as in avisos@example.pe.');
}

/** @throws CommandError when the last day is before the first */
export function checkDays(from: string, until: string | null): void {
  if (until !== null && until < from)
    throw new CommandError(`The last day, ${until}, is before the first, ${from}.`, 'Change one of the two.');
}

export function noAccount(id: number): CommandError {
  return new CommandError(`There is no account ${id}.`, 'See them with: npx padron accounts list');
}

export const registerArgument = `one of: ${registerNames.join(', ')}`;

/** How long a command that waits goes on watching. */
export const defaultTimeoutSeconds = 6 * 3600;
