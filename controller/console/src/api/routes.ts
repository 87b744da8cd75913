// SPDX-License-Identifier: Apache-2.0
// Routes by method, with parameters, body and answer, from the OpenAPI document.

import type { paths } from './generated';

type Json<T> = { content: { 'application/json': T } };

/** The call of an operation whose answer is JSON; `never` for any other operation. */
type Call<Operation> = Operation extends { responses: { 200: Json<infer Answer> } }
  ? {
      path: Operation extends { parameters: { path: infer P } } ? P : Record<string, never>;
      query: Operation extends { parameters: { query?: infer Q } } ? ([Q] extends [undefined] ? Record<string, never> : NonNullable<Q>) : never;
      body: Operation extends { requestBody: Json<infer Body> } ? Body : never;
      answer: Answer;
    }
  : never;

type Routes<Method extends 'get' | 'post'> = {
  [Path in keyof paths as Call<paths[Path][Method]> extends never ? never : Path]: Call<paths[Path][Method]>;
};

export type Gets = Routes<'get'>;
export type Posts = Routes<'post'>;
