import { marked, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { Code, Link, Table } from '../parts.tsx';

/** Shows a Markdown text of ours. Its links lead to our pages. What the texts do not use is left out. */
export function Markdown({ text, idOf }: { text: string; idOf?: (heading: string) => string }) {
  return <>{blocks(marked.lexer(text), idOf)}</>;
}

function blocks(tokens: readonly Token[], idOf?: (heading: string) => string): ComponentChildren[] {
  // Parts that scroll are named after their heading, so that each name is given once.
  let heading = '';
  return tokens.map((token, index) => {
    const key = `${index}`;
    switch (token.type) {
      case 'heading':
        heading = token.text as string;
        return (
          <h2 key={key} id={idOf?.(token.text as string)}>
            {inline(token.tokens ?? [])}
          </h2>
        );
      case 'paragraph':
        return <p key={key}>{inline(token.tokens ?? [])}</p>;
      case 'code':
        return (
          <Code key={key} label={`Ejemplo: ${heading}`}>
            {token.text as string}
          </Code>
        );
      case 'table':
        return <MarkdownTable key={key} table={token as Tokens.Table} />;
      default:
        return null;
    }
  });
}

function MarkdownTable({ table: { header, rows } }: { table: Tokens.Table }) {
  const isNumber = header.map((_, column) => rows.every((row) => /^[\d,.]+$/.test(row[column]?.text ?? '')));
  const columns = header.map(({ text }, column) => ({ name: text, isNumber: isNumber[column] === true }));
  return (
    <Table label={columns.map(({ name }) => name).join(', ')} columns={columns}>
      {rows.map((row) => (
        <tr key={row.map(({ text }) => text).join()}>
          {row.map((cell, column) => (
            <td key={cell.text} class={isNumber[column] === true ? 'number' : undefined}>
              {inline(cell.tokens)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

function inline(tokens: readonly Token[]): ComponentChildren[] {
  return tokens.map((token, index) => {
    const key = `${index}`;
    switch (token.type) {
      case 'codespan':
        return <code key={key}>{token.text as string}</code>;
      case 'link':
        return (
          <Link key={key} to={token.href as string}>
            {inline(token.tokens ?? [])}
          </Link>
        );
      case 'strong':
        return <strong key={key}>{inline(token.tokens ?? [])}</strong>;
      case 'br':
        return <br key={key} />;
      default:
        return token.raw;
    }
  });
}
