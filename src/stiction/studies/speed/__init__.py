"""Speed, side by side with MuJoCo, DART and Bullet: `stiction bench`."""
