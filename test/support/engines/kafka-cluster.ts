import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readLocalConfig } from '../../../deploy/local/config.ts';
import type { Certificate } from '../../../deploy/local/demo/receiver.ts';
import { commonKafkaProperties } from '../../../deploy/local/engines/kafka.ts';
import { launchKafka, newClusterId } from '../../../deploy/local/engines/kafka-node.ts';
import { claimPorts } from '../../../deploy/local/ports.ts';
import { SupervisedProcess } from '../../../deploy/local/supervise.ts';
import { makeKafka } from '../../../pipelines/runtime/kafka/client.ts';
import type { KafkaConnection } from '../../../pipelines/runtime/kafka/connection.ts';
import { makeLogger } from '../../../pipelines/runtime/log.ts';
import type { Authority } from '../delivery/authority.ts';

/** A further listener of each node, besides the one with TLS and logins that all nodes have. */
export interface ExtraListener {
  name: string;
  protocol: 'PLAINTEXT' | 'SSL';
  /** Missing for PLAINTEXT. */
  certificate?: Certificate;
  /** Whether clients must show a certificate of the cluster's authority. */
  asksForCertificate?: boolean;
}

export interface ClusterOptions {
  directory: string;
  /** Number of nodes. Each is a broker and a controller. */
  size: number;
  authority: Authority;
  listeners?: readonly ExtraListener[];
  /** Further properties of every node. */
  properties?: Record<string, string | number>;
  log?: (line: string) => void;
}

/** The login that every test cluster knows, by SCRAM and PLAIN. */
export const clusterLogin = { username: 'padron', password: 'una-clave-secreta' };
const secure = 'SECURE';
const readyTimeoutMs = 120_000;
const stopTimeoutMs = 30_000;

interface Node {
  id: number;
  folder: string;
  ports: ReadonlyMap<string, number>;
  process: SupervisedProcess | undefined;
}

/** Kafka's own brokers with TLS and logins on loopback. Brokers and controllers of the cluster use TLS too. */
export class KafkaCluster {
  readonly #options: ClusterOptions;
  readonly #nodes: Node[] = [];
  readonly #clusterId = newClusterId();
  #releasePorts: () => void = () => undefined;
  #authority: Authority;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#authority = options.authority;
  }

  /** Chooses ports and starts all nodes. */
  async start(): Promise<void> {
    const names = [secure, 'CONTROLLER', ...(this.#options.listeners ?? []).map(({ name }) => name)];
    const { ports, release } = await claimPorts(names.length * this.#options.size);
    this.#releasePorts = release;
    for (let id = 1; id <= this.#options.size; id += 1) {
      const mine = new Map(names.map((name) => [name, ports.pop()!]));
      const folder = path.join(this.#options.directory, `broker-${id}`);
      this.#nodes.push({ id, folder, ports: mine, process: undefined });
    }
    await Promise.all(this.#nodes.map(({ id }) => this.startNode(id)));
  }

  /** The file of the authority that clients must trust. It is written anew when the authority changes. */
  get caFile(): string {
    return path.join(this.#options.directory, 'clients', 'ca.pem');
  }

  /** The addresses of all nodes at a listener, by default the one with TLS and logins. */
  brokers(listener: string = secure): string {
    return this.#nodes.map(({ ports }) => `127.0.0.1:${ports.get(listener)}`).join(',');
  }

  /** How a client of this cluster connects. */
  connection(): KafkaConnection {
    const login = { mechanism: 'scram-sha-512' as const, ...clusterLogin };
    return { brokers: this.brokers(), tls: { ca: this.caFile }, login };
  }

  /** The settings of `connection`, for processes of the product. */
  environment(): Record<string, string> {
    return {
      KAFKA_BROKERS: this.brokers(),
      KAFKA_TLS: '1',
      KAFKA_TLS_CA_FILE: this.caFile,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: clusterLogin.username,
      KAFKA_SASL_PASSWORD: clusterLogin.password,
    };
  }

  /** Uses another authority from the next start of each node on. Clients go on trusting the old one. */
  changeAuthority(authority: Authority): void {
    this.#authority = authority;
  }

  /** Writes the authority that clients trust. */
  writeCaFile(): void {
    mkdirSync(path.dirname(this.caFile), { recursive: true });
    writeFileSync(this.caFile, this.#authority.caPem);
  }

  /** Starts a node with fresh certificates, and waits until it answers. */
  async startNode(id: number): Promise<void> {
    const node = this.#node(id);
    const { javaOptions, programsDirectory, searchPath } = readLocalConfig();
    const log = this.#options.log ?? (() => undefined);
    const launch = await launchKafka(
      { programs: { directory: programsDirectory, searchPath, log }, javaOptions },
      {
        name: `broker-${id}`,
        folder: node.folder,
        properties: await this.#propertiesOf(node),
        clusterId: this.#clusterId,
        formatWords: ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
          '--add-scram',
          `${mechanism}=[name=${clusterLogin.username},password=${clusterLogin.password}]`,
        ]),
        isReady: () => this.#answers(node),
      },
    );
    const folders = ['run', 'logs'].map((name) => path.join(this.#options.directory, name));
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    node.process = new SupervisedProcess(launch, {
      ...{ runDirectory: folders[0]!, logDirectory: folders[1]!, searchPath, readyTimeoutMs, stopTimeoutMs },
      onUnexpectedEnd: (_, description) => log(description),
    });
    await node.process.waitUntilReady();
  }

  async killNode(id: number): Promise<void> {
    await this.#node(id).process?.kill();
  }

  async stopNode(id: number): Promise<void> {
    await this.#node(id).process?.stop();
  }

  /** Loses the disk of a node that does not run. */
  wipeNode(id: number): void {
    rmSync(path.join(this.#node(id).folder, 'data'), { recursive: true });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map(({ id }) => this.killNode(id)));
    this.#releasePorts();
  }

  #node(id: number): Node {
    return this.#nodes.find((node) => node.id === id)!;
  }

  async #propertiesOf(node: Node): Promise<Record<string, string | number>> {
    mkdirSync(node.folder, { recursive: true });
    const { size, listeners = [], properties = {} } = this.#options;
    const own = await this.#authority.issue({ names: ['127.0.0.1'] });
    const write = (name: string, text: string) => {
      const file = path.join(node.folder, name);
      writeFileSync(file, text, { mode: 0o600 });
      return file;
    };
    const trust = { type: 'PEM', location: write('authority.pem', this.#authority.caPem) };
    const tls = (name: string, { keyPem, certificatePem }: Certificate) => ({
      [`listener.name.${name.toLowerCase()}.ssl.keystore.type`]: 'PEM',
      [`listener.name.${name.toLowerCase()}.ssl.keystore.location`]: write(
        `${name}.pem`,
        `${keyPem}\n${certificatePem}\n`,
      ),
      [`listener.name.${name.toLowerCase()}.ssl.truststore.type`]: trust.type,
      [`listener.name.${name.toLowerCase()}.ssl.truststore.location`]: trust.location,
    });
    const open = [...listeners.map(({ name }) => name), secure];
    const at = (name: string) => `${name}://127.0.0.1:${node.ports.get(name)}`;
    const protocols = [
      ...listeners.map(({ name, protocol }) => `${name}:${protocol}`),
      `${secure}:SASL_SSL`,
      'CONTROLLER:SSL',
    ];
    const replicas = Math.min(3, size);
    const inSync = Math.min(2, size);
    return {
      ...commonKafkaProperties,
      'process.roles': 'broker,controller',
      'node.id': node.id,
      'controller.quorum.voters': this.#nodes
        .map(({ id, ports }) => `${id}@127.0.0.1:${ports.get('CONTROLLER')}`)
        .join(','),
      listeners: [...open, 'CONTROLLER'].map(at).join(','),
      'advertised.listeners': open.map(at).join(','),
      'listener.security.protocol.map': protocols.join(','),
      'inter.broker.listener.name': secure,
      'sasl.mechanism.inter.broker.protocol': 'SCRAM-SHA-512',
      ...tls('CONTROLLER', own),
      'listener.name.controller.ssl.client.auth': 'required',
      ...tls(secure, own),
      ...logins(),
      ...Object.assign({}, ...listeners.map((one) => (one.certificate ? tls(one.name, one.certificate) : {}))),
      ...Object.fromEntries(
        listeners
          .filter(({ asksForCertificate }) => asksForCertificate)
          .map(({ name }) => [`listener.name.${name.toLowerCase()}.ssl.client.auth`, 'required']),
      ),
      'default.replication.factor': replicas,
      'min.insync.replicas': inSync,
      'offsets.topic.replication.factor': replicas,
      'transaction.state.log.replication.factor': replicas,
      'transaction.state.log.min.isr': inSync,
      'share.coordinator.state.topic.replication.factor': replicas,
      'share.coordinator.state.topic.min.isr': inSync,
      ...properties,
    };
  }

  async #answers(node: Node): Promise<boolean> {
    const brokers = `127.0.0.1:${node.ports.get(secure)}`;
    const trusted = path.join(node.folder, 'authority.pem');
    const connection = { ...this.connection(), brokers, tls: { ca: trusted } };
    const admin = makeKafka(connection, 'ready', makeLogger('ready', 'silent'), { retry: { retries: 0 } }).admin();
    try {
      await admin.connect();
      return (await admin.describeCluster()).brokers.some(({ nodeId }) => nodeId === node.id);
    } finally {
      await admin.disconnect();
    }
  }
}

/** The logins that the listener takes. Its tokens need no signature, because Kafka itself has no token service. */
function logins(): Record<string, string> {
  const { username, password } = clusterLogin;
  const module = (name: string, options: string) =>
    `org.apache.kafka.common.security.${name} required username="${username}" password="${password}" ${options};`;
  const of = (mechanism: string) => `listener.name.${secure.toLowerCase()}.${mechanism}.sasl.jaas.config`;
  return {
    [`listener.name.${secure.toLowerCase()}.sasl.enabled.mechanisms`]: 'SCRAM-SHA-256,SCRAM-SHA-512,PLAIN,OAUTHBEARER',
    [of('scram-sha-256')]: module('scram.ScramLoginModule', ''),
    [of('scram-sha-512')]: module('scram.ScramLoginModule', ''),
    [of('plain')]: module('plain.PlainLoginModule', `user_${username}="${password}"`),
    [of('oauthbearer')]: 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;',
  };
}
