// Script of the sign-in and invitation pages.

import { revealOnClick } from "./reveal.js";

revealOnClick(document);
