// SPDX-License-Identifier: Apache-2.0
/** By name: anchor on the glossary's page, meaning (build/glossary.ts). */
declare module 'virtual:glossary' {
  const entries: Readonly<Record<string, readonly [string, string]>>;
  export default entries;
}
