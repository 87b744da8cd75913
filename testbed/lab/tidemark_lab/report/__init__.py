# SPDX-License-Identifier: Apache-2.0
"""Pages and figures in the style of the papers.

| module | what it holds |
|---|---|
| `style` | the look of figures |
| `page` | a page of HTML |
| `steps`, `trial`, `iterate` | the figures of these judges |
"""
