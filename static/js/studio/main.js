// Script of the researcher's pages, which also work as plain links and forms.

import { copyOnClick } from "./copy.js";
import { submitOnChange } from "./filters.js";
import { announceConnection, restWhileHidden, showErrorsInPlace, skipUnchangedFragments } from "./live.js";
import { showWhereOneIs } from "./place.js";
import { closePopups } from "./popups.js";
import { keepWhatIsRead } from "./reading.js";
import { revealOnClick } from "./reveal.js";
import { helpWithTables } from "./tables.js";

closePopups(document);
showWhereOneIs(document);
copyOnClick(document);
revealOnClick(document);
submitOnChange(document);
skipUnchangedFragments(document.body);
restWhileHidden(document.body);
showErrorsInPlace(document.body);
helpWithTables(document.body);
keepWhatIsRead(document.body);
announceConnection(document.body, document.getElementById("connection"));
