import type { z } from 'zod';
import type { RegisterName } from '../../schemas/registers.ts';
import type { apiConfiguration } from '../config.ts';

/** Where a supplier check begins to warn. Settings: SUPPLIER_… of api/config.ts. */
export interface SupplierThresholds {
  /** A check without one of these is not determined. */
  required: readonly RegisterName[];
  /** A change of the record this many days old, or newer, is told. */
  recentChangeDays: number;
  /** As long after its last day a bar is still told. */
  recentBarDays: number;
  /** Data older than this are told as late. */
  maxDataAgeDays: { daily: number; monthly: number; lists: number };
}

export function maxAgeDays(register: RegisterName, { maxDataAgeDays }: SupplierThresholds): number {
  if (register === 'padron_reducido') return maxDataAgeDays.daily;
  return register === 'padron_mensual' ? maxDataAgeDays.monthly : maxDataAgeDays.lists;
}

export function supplierThresholdsOf(config: z.output<typeof apiConfiguration>): SupplierThresholds {
  return {
    required: config.SUPPLIER_REQUIRED_REGISTERS,
    recentChangeDays: config.SUPPLIER_RECENT_CHANGE_DAYS,
    recentBarDays: config.SUPPLIER_RECENT_BAR_DAYS,
    maxDataAgeDays: {
      daily: config.SUPPLIER_MAX_DAILY_AGE_DAYS,
      monthly: config.SUPPLIER_MAX_MONTHLY_AGE_DAYS,
      lists: config.SUPPLIER_MAX_LIST_AGE_DAYS,
    },
  };
}
