"""The feature of xmlBlaster's property files and `<clusternode>` texts."""
