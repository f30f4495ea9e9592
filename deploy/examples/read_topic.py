"""Reads a register's changes from Kafka to the topic's present end, and prints them as JSON lines.

    pip install fastavro kafka-python
    KAFKA_BROKERS=127.0.0.1:9092 SCHEMA_REGISTRY_URL=http://127.0.0.1:8081 python read_topic.py register.padron_reducido.changes

A value is one zero byte, the schema's registry id (big-endian, four bytes), then the Avro record. Records may stand twice
in a topic (a producer that died and began again, a replay): the same ruc and edition is the same change.
"""

import io
import json
import os
import struct
import sys
import urllib.request

from fastavro import parse_schema, schemaless_reader
from kafka import KafkaConsumer, TopicPartition

registry = os.environ["SCHEMA_REGISTRY_URL"].rstrip("/")
schemas = {}


def schema_of(schema_id):
    # A topic holds records of every release: each id is asked for once.
    if schema_id not in schemas:
        with urllib.request.urlopen(f"{registry}/schemas/ids/{schema_id}") as answer:
            schemas[schema_id] = parse_schema(json.loads(json.load(answer)["schema"]))
    return schemas[schema_id]


def decode(value):
    magic, schema_id = struct.unpack(">bI", value[:5])
    if magic != 0:
        raise ValueError("not a value of this service")
    return schemaless_reader(io.BytesIO(value[5:]), schema_of(schema_id))


def changes(topic):
    consumer = KafkaConsumer(bootstrap_servers=os.environ["KAFKA_BROKERS"].split(","), enable_auto_commit=False)
    partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends = consumer.end_offsets(partitions)
    seen = set()
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        for records in consumer.poll(timeout_ms=1000).values():
            for record in records:
                change = decode(record.value)
                identity = (change["ruc"], change["edition"])
                if identity in seen:
                    continue
                seen.add(identity)
                yield change
    consumer.close()


if __name__ == "__main__":
    for change in changes(sys.argv[1]):
        change["detected_at"] = change["detected_at"].isoformat()
        print(json.dumps(change, ensure_ascii=False))
