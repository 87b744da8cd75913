// SPDX-License-Identifier: Apache-2.0
import 'uplot/dist/uPlot.min.css';
import './styles/tokens.css';
import './styles/page.css';
import './styles/recorder.css';
import './styles/sizing.css';
import './styles/tables.css';
import { App } from './app';
import { startTheme } from './charts/theme';

startTheme();
const root = document.getElementById('app');
if (root) new App(root).start();
