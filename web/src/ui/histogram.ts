// SPDX-License-Identifier: Apache-2.0
// Histograms of lengths of time: buckets of a quarter octave (four steps from a length to its double). Pure functions.

export const STEPS = 4; /* an octave */

/* How many lasted from lengthOf(step) to below lengthOf(step + 1); and the longest one of them, for who wants to see it. */
export interface Bucket<E> {
  step: number;
  count: number;
  example?: E | undefined;
}

/* The shortest length of a bucket. */
export function lengthOf(step: number): number {
  return 2 ** (step / STEPS);
}

export function total(buckets: readonly Bucket<unknown>[]): number {
  return buckets.reduce((sum, bucket) => sum + bucket.count, 0);
}

/* The length below which `share` of all lie, as a bucket's upper bound: at most a fifth too long. NaN: there are none. */
export function quantile(buckets: readonly Bucket<unknown>[], share: number): number {
  const all = total(buckets);
  if (all === 0) return NaN;
  const sorted = [...buckets].sort((a, b) => a.step - b.step);
  let seen = 0;
  for (const bucket of sorted) {
    seen += bucket.count;
    if (seen >= share * all) return lengthOf(bucket.step + 1);
  }
  return lengthOf(sorted.at(-1)!.step + 1);
}

/* Of several histograms as one; the longer example stays. */
export function merged<E extends { length: number }>(of: readonly (readonly Bucket<E>[])[]): Bucket<E>[] {
  const steps = new Map<number, Bucket<E>>();
  for (const bucket of of.flat()) {
    const old = steps.get(bucket.step);
    if (old === undefined) steps.set(bucket.step, { ...bucket });
    else {
      old.count += bucket.count;
      if ((bucket.example?.length ?? -1) > (old.example?.length ?? -1)) old.example = bucket.example;
    }
  }
  return [...steps.values()].sort((a, b) => a.step - b.step);
}

/* Buckets that lie whole above what 99 of 100 take: the outliers. None where there are too few to say so. */
export function outliers<E>(buckets: readonly Bucket<E>[], least = 20): Bucket<E>[] {
  if (total(buckets) < least) return [];
  const bound = quantile(buckets, 0.99);
  return buckets.filter((bucket) => lengthOf(bucket.step) >= bound);
}

/* Round lengths for an axis: 1 µs, 10 µs, … that lie between two steps. */
export function marks(first: number, last: number): number[] {
  const lengths: number[] = [];
  for (let length = 1; length <= lengthOf(last + 1); length *= 10) if (length >= lengthOf(first)) lengths.push(length);
  return lengths;
}
