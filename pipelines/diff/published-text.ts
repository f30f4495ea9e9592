export interface PublicationLimits {
  /** Largest text that a publication may declare or inflate to. */
  maxTextBytes: number;
  /** Entries of a zip. */
  maxEntries: number;
}

/** The text of a publication, as it stands in its container. */
export interface PublishedText {
  textBytes: number;
  crc32: number;
  /** The text in pieces of at most `chunkBytes`; each stays valid. Ends with an error unless size and CRC are as declared. */
  chunks(): AsyncGenerator<Buffer>;
}

/** zlib's default of 16 KB makes inflating three times as slow. */
export const chunkBytes = 2 << 20;
