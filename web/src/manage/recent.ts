// SPDX-License-Identifier: Apache-2.0
// The newest of what comes without end: so many are kept, older ones are let go and counted. Pure.

export class Recent<T> {
  readonly most: number;
  private slots: T[] = [];
  private begin = 0; /* of the oldest, once all slots are used */
  private letGo = 0;

  constructor(most: number) {
    this.most = most;
  }

  get kept(): number {
    return this.slots.length;
  }

  get dropped(): number {
    return this.letGo;
  }

  add(item: T): void {
    if (this.slots.length < this.most) {
      this.slots.push(item);
      return;
    }
    this.slots[this.begin] = item;
    this.begin = (this.begin + 1) % this.most;
    this.letGo++;
  }

  /* The newest first. */
  newest(): T[] {
    const inOrder = [...this.slots.slice(this.begin), ...this.slots.slice(0, this.begin)];
    return inOrder.reverse();
  }

  clear(): void {
    this.slots = [];
    this.begin = 0;
    this.letGo = 0;
  }
}
