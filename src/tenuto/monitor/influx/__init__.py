"""Everything that is measured, told to an InfluxDB too: as lines, through a bounded buffer, at the database's pace."""
