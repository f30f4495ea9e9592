import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Filled } from './page.ts';
import { nameField, tokenField } from './sessions/form-tokens.ts';
import { useSurroundings } from './surroundings.ts';

// Forms and their fields. They show what was typed and what is wrong with it. Their looks are in assets/forms.css.

interface FormScope {
  name: string;
  filled: Filled | null;
}
const FormContext = createContext<FormScope>({ name: '', filled: null });

/**
 * A form that acts. It is sent to the page that it stands on, or to another page `to`, which has a form of this name.
 * Whoever may not send it does not see it.
 */
export function Form({ name, to, of, children, ...more }: FormProps) {
  const { formToken, refused, prefix, maySend } = useSurroundings();
  if (formToken === null) throw new Error(`the page has the form ${name}, but its entry lists no forms`);
  if (!maySend(name, to)) return null;
  const filled = refused?.name === name && (of === undefined || refused.typed[of.name] === of.value) ? refused : null;
  return (
    <FormContext.Provider value={{ name: of === undefined ? name : `${name}-${of.value}`, filled }}>
      <form method="post" action={to === undefined ? undefined : `${prefix}${to}`} {...more}>
        <input type="hidden" name={nameField} value={name} />
        <input type="hidden" name={tokenField} value={formToken} />
        {of !== undefined && <input type="hidden" name={of.name} value={of.value} />}
        {children}
      </form>
    </FormContext.Provider>
  );
}

interface FormProps {
  /** The form's name in its page's `forms`. */
  name: string;
  to?: string;
  /** What the form is about, as a hidden field, where a page has a form of this name for each of several things. */
  of?: { name: string; value: string };
  class?: string;
  children: ComponentChildren;
}

/** Filters of a page. They stand in its address, so that a link to it shows the same. */
export function Filters({ filled, children }: { filled: Filled; children: ComponentChildren }) {
  return (
    <FormContext.Provider value={{ name: 'filtro', filled }}>
      <form method="get" class="filters">
        <Problem filled={filled} />
        {children}
      </form>
    </FormContext.Provider>
  );
}

/** Says above the page that a form, or filters, were refused. What is wrong with a field stands beside it. */
export function Problem({ filled: { problem, errors } }: { filled: Filled }) {
  const count = Object.keys(errors).length;
  if (problem === null && count === 0) return null;
  return (
    <p class="message bad" role="alert">
      {problem ?? (count === 1 ? 'Revise el campo marcado.' : `Revise los ${count} campos marcados.`)}
    </p>
  );
}

interface FieldProps {
  name: string;
  label: string;
  /** What is expected, in a sentence. */
  hint?: ComponentChildren;
}

interface TextFieldProps extends FieldProps {
  type?: 'text' | 'search' | 'date' | 'number' | 'url' | 'password';
  /** Shown until something is typed. A password is never shown again. */
  value?: string;
  isRequired?: boolean;
  maxLength?: number;
  autocomplete?: string;
  inputMode?: 'numeric' | 'text' | 'search';
  /** Shown in the letters of code. */
  isCode?: boolean;
  size?: number;
}

export function TextField({
  name,
  label,
  hint,
  type = 'text',
  value,
  isRequired,
  maxLength,
  isCode,
  ...more
}: TextFieldProps) {
  const { id, typed, error, describedBy, isFirstError } = useField(name, hint !== undefined);
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <input
        id={id}
        name={name}
        // The types of the attributes would differ by the kind of input.
        type={type as 'text'}
        value={type === 'password' ? undefined : (typed ?? value)}
        required={isRequired}
        class={isCode === true ? 'code' : undefined}
        maxLength={maxLength}
        aria-invalid={error === undefined ? undefined : 'true'}
        aria-describedby={describedBy}
        // After a refusal the first wrong field is what the person came back for.
        autofocus={isFirstError}
        spellcheck={false}
        {...more}
      />
    </FieldFrame>
  );
}

export function TextArea({ name, label, hint, rows, value }: FieldProps & { rows: number; value?: string }) {
  const { id, typed, error, describedBy, isFirstError } = useField(name, hint !== undefined);
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <textarea
        id={id}
        name={name}
        rows={rows}
        aria-invalid={error === undefined ? undefined : 'true'}
        aria-describedby={describedBy}
        autofocus={isFirstError}
        spellcheck={false}
      >
        {typed ?? value}
      </textarea>
    </FieldFrame>
  );
}

interface Options {
  options: readonly { value: string; label: string }[];
}

export function Select({ name, label, hint, value, options }: FieldProps & Options & { value?: string }) {
  const { id, typed, error, describedBy } = useField(name, hint !== undefined);
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <select
        id={id}
        name={name}
        aria-invalid={error === undefined ? undefined : 'true'}
        aria-describedby={describedBy}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === (typed ?? value)}>
            {option.label}
          </option>
        ))}
      </select>
    </FieldFrame>
  );
}

/**
 * Several choices of a list, of which none, some or all may be marked.
 * @param values what is marked until the form is sent
 */
export function Checks({
  name,
  label,
  hint,
  values = [],
  options,
}: FieldProps & Options & { values?: readonly string[] }) {
  const { id, typed, error, isSent } = useField(name, hint !== undefined);
  // A browser sends nothing for a list of which none is marked.
  const marked = isSent ? (typed?.split('\n') ?? []) : values;
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {hint !== undefined && <p class="hint">{hint}</p>}
      {error !== undefined && <p class="error">{error}</p>}
      {options.map((option) => (
        <label key={option.value} class="check">
          <input
            id={`${id}-${option.value}`}
            type="checkbox"
            name={name}
            value={option.value}
            checked={marked.includes(option.value)}
          />{' '}
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}

function useField(name: string, hasHint: boolean) {
  const { name: formName, filled } = useContext(FormContext);
  const id = `${formName}-${name}`;
  const error = filled?.errors[name];
  const describedBy = [hasHint && `${id}-ayuda`, error !== undefined && `${id}-error`].filter(Boolean).join(' ');
  return {
    id,
    isSent: filled !== null,
    typed: filled?.typed[name],
    error,
    describedBy: describedBy === '' ? undefined : describedBy,
    isFirstError: error !== undefined && Object.keys(filled?.errors ?? {})[0] === name,
  };
}

interface FrameProps {
  id: string;
  label: string;
  hint: ComponentChildren;
  error: string | undefined;
  children: ComponentChildren;
}

function FieldFrame({ id, label, hint, error, children }: FrameProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-ayuda`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {children}
    </div>
  );
}
