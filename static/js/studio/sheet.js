// What the sign-in, the invitation and the like do beyond links and forms.

import { revealOnClick } from "./reveal.js";

revealOnClick(document);
