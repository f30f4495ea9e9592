import { expect, test } from 'vitest';
import { Lease, takeUnits } from '../../../../api/metering/grant.ts';
import { LeasedReservation } from '../../../../api/metering/meter.ts';
import { Wallet } from '../../../../api/metering/wallet.ts';

const month = '2026-11-01';

function leaseOf(purse: 'mes' | 'prepago', granted: number): Lease {
  const lease = new Lease(purse, month);
  lease.granted = granted;
  lease.writtenGranted = granted;
  lease.usableUntilMs = 60_000;
  return lease;
}

test('a reservation over both purses charges the month first and gives back the rest', () => {
  const [mes, prepago] = [leaseOf('mes', 40), leaseOf('prepago', 200)];
  const reservation = new LeasedReservation(takeUnits([mes, prepago], 100)!);
  expect([mes.free, prepago.free]).toEqual([0, 140]);
  reservation.charge(50);
  reservation.release();
  expect([mes.spent, prepago.spent, mes.held, prepago.held]).toEqual([40, 10, 0, 0]);
  expect([mes.free, prepago.free]).toEqual([0, 190]);
  reservation.release();
  expect(prepago.held).toBe(0);
});

test('all the units or none; a charge beyond the reservation is a defect, not a debt', () => {
  const lease = leaseOf('mes', 9);
  expect(takeUnits([lease], 10)).toBeNull();
  expect(lease.held).toBe(0);
  const reservation = new LeasedReservation(takeUnits([lease], 2)!);
  expect(() => reservation.charge(3)).toThrow(RangeError);
  expect(lease.spent).toBe(0);
});

test('what requests hold is not given back', () => {
  const lease = leaseOf('mes', 50);
  takeUnits([lease], 3);
  expect(lease.shrink()).toBe(true);
  expect([lease.granted, lease.free]).toEqual([3, 0]);
  expect(leaseOf('mes', 0).shrink()).toBe(false);
});

test('a lapsed lease and one of a past month are left behind; what they hold is still charged there', () => {
  const wallet = new Wallet(1, month);
  wallet.mes = leaseOf('mes', 10);
  const [part] = wallet.take(1)!;
  wallet.turn(month, 59_999);
  expect(wallet.free).toBe(9);
  wallet.turn(month, 60_000);
  expect([wallet.free, wallet.retired.length]).toEqual([0, 1]);
  new LeasedReservation([part!]).charge(1);
  expect(wallet.retired[0]!.spent).toBe(1);
  wallet.mes = leaseOf('mes', 10);
  wallet.turn('2026-12-01', 0);
  expect([wallet.free, wallet.mes.month]).toEqual([0, '2026-12-01']);
});
