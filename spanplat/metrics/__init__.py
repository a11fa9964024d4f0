"""Pure measures of span agreement on arrays: nothing here knows campaigns, databases or the web."""
