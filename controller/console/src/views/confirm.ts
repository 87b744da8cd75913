// SPDX-License-Identifier: Apache-2.0
// Asks for the control token before anything is changed.

import { attr, h, keyed, prose, text } from '../dom';

export interface Confirmation {
  title: string;
  /** Returns the description of the change, with its values; called again by `refresh`. */
  words: () => string;
  /** Expected effect and how it is watched, one line each. */
  more?: () => string[];
  /** Label of the button that makes the change. */
  verb: string;
  /** Makes the change; rejects with the reason for the operator. */
  act: (token: string) => Promise<void>;
}

export interface TokenStore {
  get: () => string;
  clear: () => void;
}

export class ConfirmDialog {
  readonly element: HTMLDialogElement;
  private readonly title = h('h2', { id: 'confirm-title' });
  private readonly words = h('p');
  private readonly more = h('ul', { class: 'soft small expected' });
  private readonly input = h('input', { type: 'password', id: 'token', name: 'token', autocomplete: 'off', required: true });
  private readonly error = h('p', { class: 'kept form-error', role: 'alert' });
  private readonly submit = h('button', { type: 'submit', class: 'primary' });
  private readonly forget = h('button', { type: 'button', class: 'quiet forget', onclick: () => this.forgetToken() }, 'Forget token');
  private asked: Confirmation | null = null;

  constructor(private readonly store: TokenStore) {
    const cancel = h('button', { type: 'button', class: 'quiet', onclick: () => this.element.close() }, 'Cancel');
    const submit = (e: Event): void => {
      e.preventDefault();
      void this.run();
    };
    const form = h(
      'form',
      { method: 'dialog', onsubmit: submit },
      this.title,
      this.words,
      this.more,
      h('label', { for: 'token' }, 'Control token'),
      this.input,
      h('p', { class: 'soft small' }, 'The controller printed it at its first start, or it is in its token file. Kept for this tab only.'),
      this.error,
      h('div', { class: 'buttons' }, this.forget, cancel, this.submit),
    );
    this.element = h('dialog', { class: 'confirm', 'aria-labelledby': 'confirm-title' }, form);
  }

  private forgetToken(): void {
    this.store.clear();
    this.input.value = '';
    attr(this.forget, 'hidden', true);
    this.input.focus();
  }

  ask(c: Confirmation): void {
    this.asked = c;
    text(this.title, c.title);
    this.show(c);
    text(this.submit, c.verb);
    text(this.error, '');
    this.input.value = this.store.get();
    attr(this.forget, 'hidden', this.input.value === '');
    this.element.showModal();
    (this.input.value ? this.submit : this.input).focus();
  }

  /** Shows the current values, unless they are just being sent. */
  refresh(): void {
    if (this.element.open && this.asked && !this.submit.disabled) this.show(this.asked);
  }

  private show(c: Confirmation): void {
    text(this.words, c.words());
    keyed(this.more, c.more?.() ?? [], (line) => line, () => h('li'), (li, line) => prose(li, line));
  }

  private async run(): Promise<void> {
    const token = this.input.value.trim();
    if (!this.asked || !token) return;
    attr(this.submit, 'disabled', true);
    text(this.error, '');
    try {
      await this.asked.act(token);
      this.element.close();
    } catch (e) {
      text(this.error, e instanceof Error ? e.message : String(e));
    } finally {
      attr(this.submit, 'disabled', false);
      this.refresh();
    }
  }
}
