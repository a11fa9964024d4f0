// What the researcher's pages do beyond links and forms.

import { copyOnClick } from "./copy.js";
import { submitOnChange } from "./filters.js";
import { announceConnection, restWhileHidden, showErrorsInPlace, skipUnchangedFragments } from "./live.js";
import { closePopups } from "./popups.js";

closePopups(document);
copyOnClick(document);
submitOnChange(document);
skipUnchangedFragments(document.body);
restWhileHidden(document.body);
showErrorsInPlace(document.body);
announceConnection(document.body, document.getElementById("connection"));
