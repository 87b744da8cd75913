// SPDX-License-Identifier: Apache-2.0
import 'uplot/dist/uPlot.min.css';
import './styles/tokens.css';
import './styles/page.css';
import './styles/masthead.css';
import './styles/verdict.css';
import './styles/charts.css';
import './styles/recorder.css';
import './styles/packet.css';
import './styles/estimates.css';
import './styles/rules.css';
import './styles/advice.css';
import './styles/tables.css';
import { App } from './app';
import { startTheme } from './charts/theme';

startTheme();
const root = document.getElementById('app');
if (root) new App(root).start();
