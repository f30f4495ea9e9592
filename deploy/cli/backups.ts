import { Option } from 'commander';
import { type Backup, type BackupKind, backupKinds, listBackups, recordBackup } from '../../workflows/backups.ts';
import { filled, instantOf, type PadronCommand } from './arguments.ts';
import { type CommandContext, CommandError, type OutputOptions } from './context.ts';

const kindTexts = 'base (base backup of PostgreSQL), wal (its write-ahead log) or archive (the files of ARCHIVE_URL)';

/** `padron backup record|list`. The backups themselves are made by the operator's tools (deploy/backup/README.md). */
export function addBackupCommands(program: PadronCommand, context: CommandContext): void {
  const backup = program
    .command('backup')
    .description('When backups were finished. Other tools make them: see deploy/backup/README.md.')
    .examples('backup list');

  backup
    .command('record')
    .description('Records that a backup was finished. Run it as the last step of a backup job; repeatable.')
    .addOption(new Option('--kind <kind>', kindTexts).choices(backupKinds).makeOptionMandatory())
    .requiredOption('--label <text>', 'your name for it, such as its folder')
    .option('--at <time>', 'when it was finished, ISO 8601 with offset (default: now)', instantOf)
    .remarks('The metric padron_backup_age_seconds of the worker counts from the newest of each kind.')
    .examples('backup record --kind base --label 2026-11-27T0200')
    .action(async ({ kind, at, ...options }: OutputOptions & { kind: BackupKind; label: string; at?: Date }) => {
      const label = filled(options.label, '--label');
      const recorded = await recordBackup(context.pool(), kind, label, at ?? null);
      if (recorded === null)
        throw new CommandError(`--at: ${at?.toISOString()} is in the future.`, 'Give the time when it was finished.');
      context.show(options, recorded, backupLine(recorded));
    });

  backup
    .command('list')
    .description('Recorded backups, newest first, and the last WAL file that PostgreSQL has archived itself.')
    .addOption(new Option('--kind <kind>', 'of this kind only').choices(backupKinds))
    .limitOption(20)
    .examples('backup list --kind base')
    .action(async (options: OutputOptions & { kind?: BackupKind; limit: number }) => {
      const rows = await listBackups(context.pool(), options.kind ?? null, options.limit);
      context.showRows(options, rows, backupLine, 'No backup is recorded: see deploy/backup/README.md.');
    });
}

function backupLine({ kind, label, finished_at }: Backup): string {
  return [kind, label, finished_at.toISOString()].join('\t');
}
