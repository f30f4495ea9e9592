/**
 * The text made before for the same name and moment (data's version and date), else a new one. Writing a feed takes some
 * milliseconds, and all subscribers of a group get the same bytes all day. A new moment forgets the old one's, so no more
 * is held than there are names.
 */
export type KeptText = (moment: string, name: string, write: () => string) => string;

export function makeKeptTexts(): KeptText {
  const texts = new Map<string, string>();
  let keptMoment = '';
  return (moment, name, write) => {
    if (moment !== keptMoment) texts.clear();
    keptMoment = moment;
    let text = texts.get(name);
    if (text === undefined) {
      text = write();
      texts.set(name, text);
    }
    return text;
  };
}
