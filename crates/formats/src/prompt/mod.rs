//! What is said to a model beside the tools: prompt sections and reminders.
