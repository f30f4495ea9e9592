/** Target URLs that must be refused. */
export interface EgressRow {
  /** The kind of trick. One kind may have several spellings. */
  row: number;
  url: string;
  /** Why connecting without an earlier check is refused; null if the URL cannot be connected to at all. */
  atConnect: 'address_not_allowed' | 'port' | 'scheme' | null;
}

const rows = (row: number, atConnect: EgressRow['atConnect'], ...urls: string[]): EgressRow[] =>
  urls.map((url) => ({ row, url, atConnect }));
const inside = 'address_not_allowed';

export const refusedTargets: readonly EgressRow[] = [
  ...rows(1, inside, 'https://127.0.0.1/'),
  ...rows(2, inside, 'https://127.1/'),
  ...rows(3, inside, 'https://2130706433/'),
  ...rows(4, inside, 'https://0x7f000001/', 'https://0x7f.0.0.1/'),
  ...rows(5, inside, 'https://0177.0.0.1/', 'https://017700000001/'),
  ...rows(8, inside, 'https://127.0.0.1./', 'https://localhost./'),
  ...rows(9, inside, 'https://localhost/', 'HTTPS://LOCALHOST/', 'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/'),
  ...rows(10, null, 'https:127.0.0.1', 'https:///127.0.0.1/'),
  ...rows(11, inside, 'https://0/', 'https://0.0.0.0/', 'https://[::]/'),
  ...rows(12, inside, 'https://[::1]/'),
  ...rows(13, inside, 'https://[::ffff:127.0.0.1]/'),
  ...rows(15, inside, 'https://[64:ff9b::a9fe:a9fe]/', 'https://[64:ff9b::7f00:1]/'),
  ...rows(17, inside, 'https://[2002:7f00:1::]/'),
  ...rows(20, inside, 'https://[fe80::1]/'),
  ...rows(20, null, 'https://[fe80::1%25eth0]/'),
  ...rows(21, inside, 'https://[fc00::1]/', 'https://[fec0::1]/', 'https://[ff02::1]/'),
  ...rows(22, 'scheme', 'http://169.254.169.254/', 'http://169.254.43518/', 'http://0xA9FEA9FE/', 'http://2852039166/'),
  ...rows(
    22,
    inside,
    'https://169.254.169.254/',
    'https://169.254.43518/',
    'https://0xA9FEA9FE/',
    'https://2852039166/',
  ),
  ...rows(23, 'scheme', 'http://[fd00:ec2::254]/'),
  ...rows(23, inside, 'https://[fd00:ec2::254]/'),
  ...rows(25, inside, 'https://metadata.google.internal/', 'https://a.internal/', 'https://printer.local/'),
  ...rows(25, inside, 'https://api.default.svc.cluster.local/'),
  ...rows(27, inside, 'https://10.0.0.1/', 'https://172.16.0.1/', 'https://172.31.255.255/', 'https://192.168.0.1/'),
  ...rows(28, inside, 'https://100.64.0.1/'),
  ...rows(29, inside, 'https://198.18.0.1/', 'https://192.0.2.1/', 'https://198.51.100.1/', 'https://203.0.113.1/'),
  ...rows(29, inside, 'https://[2001:db8::1]/'),
  ...rows(30, inside, 'https://224.0.0.1/', 'https://240.0.0.1/', 'https://255.255.255.255/'),
  ...rows(31, inside, 'https://127.0.0.1.nip.io/', 'https://localtest.me/'),
  ...rows(37, inside, 'https://example.com@127.0.0.1/'),
  ...rows(40, null, 'ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com/', 'data:text/plain,x'),
  ...rows(40, null, 'javascript:alert(1)', 'ws://example.com/'),
  ...rows(40, 'scheme', 'http://example.com/'),
  ...[0, 22, 25, 2375, 5432, 6379, 7233, 9092, 9200].flatMap((port) =>
    rows(41, 'port', `https://example.com:${port}/`),
  ),
  ...rows(42, null, 'https://api.padron.pe/ingest'),
  ...rows(43, null, 'https://256.0.0.1/', 'https://4294967296/', 'https://example.com:65536/', 'https://xn--/'),
];

/** A name server for the names above: only the resolved address shows that they lead inside. */
export async function resolveInside(host: string): Promise<readonly string[]> {
  return host === 'example.com' ? ['93.184.216.34'] : ['127.0.0.1'];
}

/** Rows 32–34: resolutions of a name that contain at least one forbidden address. */
export const refusedAddresses: readonly (readonly string[])[] = [
  ['93.184.216.34', '10.0.0.1'],
  ['10.0.0.1', '93.184.216.34'],
  ['93.184.216.34', '::1'],
  ['93.184.216.34', '64:ff9b::7f00:1'],
  ['::1'],
  ['::ffff:169.254.169.254'],
];
