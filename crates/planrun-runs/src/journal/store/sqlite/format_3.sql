-- From now on in microseconds since 1970, rounded up, so that every time up to the year 9999 fits.
UPDATE runs SET wake_at = (wake_at + 999) / 1000;
