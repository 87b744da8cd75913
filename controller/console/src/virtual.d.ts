// SPDX-License-Identifier: Apache-2.0
/** Anchor on the glossary's page and meaning of each name (build/glossary.ts). */
declare module 'virtual:glossary' {
  const entries: Readonly<Record<string, readonly [string, string]>>;
  export default entries;
}
